"""A call's timers: each fires once, and nothing of it is kept afterwards."""

from conversations.realtime.timers import Timers
from conversations.tests.virtual_time import in_virtual_time, seconds_pass


@in_virtual_time
async def test_a_timer_that_has_fired_is_kept_no_longer_in_a_call_that_sets_many():
    fired = []
    timers = Timers(fired.append)
    for number in range(100):
        timers.start(f"hold:{number}", 1)
    timers.start("silence", 5)
    await seconds_pass(2)
    assert sorted(fired) == sorted(f"hold:{number}" for number in range(100))
    assert list(timers._running) == ["silence"]


@in_virtual_time
async def test_a_timer_may_be_set_again_by_what_it_does():
    fired = []

    def fires(name):
        fired.append(name)
        if len(fired) < 3:
            timers.start(name, 1)

    timers = Timers(fires)
    timers.start("silence", 1)
    await seconds_pass(10)
    assert fired == ["silence"] * 3
    assert not timers._running
