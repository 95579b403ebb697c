"""How often one address or caller may ask."""

import pytest
from django.core.cache import cache
from redis.exceptions import ConnectionError as RedisGone

from conversations.identity import rates

NOW = 1_700_000_010.0  # 30 s before its window ends


def test_the_limit_is_reached_exactly_and_the_wait_ends_with_the_window():
    assert [rates.retry_after("door", "10.0.0.1", 3, NOW) for _ in range(4)] == [None, None, None, 30]


def test_the_next_window_starts_afresh():
    assert rates.retry_after("door", "10.0.0.1", 1, NOW) is None
    assert rates.retry_after("door", "10.0.0.1", 1, NOW + 29) == 1
    assert rates.retry_after("door", "10.0.0.1", 1, NOW + 31) is None


def test_one_address_does_not_use_up_anothers_attempts_nor_another_scopes():
    assert rates.retry_after("door", "10.0.0.1", 1, NOW) is None
    assert rates.retry_after("door", "10.0.0.2", 1, NOW) is None
    assert rates.retry_after("window", "10.0.0.1", 1, NOW) is None


def test_a_phone_is_not_readable_in_the_cache():
    rates.retry_after("caller", "+34600000001", 1, NOW)
    assert not any("600000001" in key for key in cache._cache)


@pytest.mark.parametrize("error", [RedisGone("down"), ConnectionRefusedError()])
def test_a_cache_that_is_down_limits_nobody(monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(type(cache._connections["default"]), "add", fail)
    assert rates.retry_after("door", "10.0.0.1", 1, NOW) is None
    assert rates.retry_after("door", "10.0.0.1", 1, NOW) is None


@pytest.mark.parametrize(
    ("forwarded", "hops", "address"),
    [
        ("1.1.1.1", 0, "9.9.9.9"),
        (None, 1, "9.9.9.9"),
        ("", 1, "9.9.9.9"),
        ("1.1.1.1", 1, "1.1.1.1"),
        ("6.6.6.6, 1.1.1.1", 1, "1.1.1.1"),
        ("6.6.6.6, 1.1.1.1, 2.2.2.2", 2, "1.1.1.1"),
        ("1.1.1.1", 2, "1.1.1.1"),
        ("1.1.1.1:4711", 1, "1.1.1.1"),
        ("[2001:db8::1]:4711", 1, "2001:db8::1"),
        ("2001:db8::1", 1, "2001:db8::1"),
        ("unknown", 1, "9.9.9.9"),
        ("'; DROP", 1, "9.9.9.9"),
    ],
)
def test_only_what_trusted_proxies_wrote_is_believed(forwarded, hops, address):
    assert rates.address_of(forwarded, "9.9.9.9", hops) == address
