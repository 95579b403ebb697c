"""What is encrypted at rest."""

import pytest
from cryptography.fernet import Fernet

from conversations.identity import vault

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()


def test_a_text_comes_back_and_is_not_in_its_ciphertext():
    sealed = vault.seal("backend-token\nwith a line", bound_to="row-1")
    assert "backend-token" not in sealed
    assert vault.unseal(sealed, bound_to="row-1") == "backend-token\nwith a line"


def test_a_ciphertext_moved_to_another_row_is_unreadable():
    sealed = vault.seal("token", bound_to="row-1")
    with pytest.raises(vault.Unreadable, match="another row"):
        vault.unseal(sealed, bound_to="row-2")


@pytest.mark.parametrize("damaged", ["", "gAAAA", "nonsense", "ñ"])
def test_a_damaged_ciphertext_is_unreadable(damaged):
    with pytest.raises(vault.Unreadable, match="S2S_TOKEN_KEYS"):
        vault.unseal(damaged, bound_to="row-1")


def test_a_rotated_key_still_opens_and_the_newest_seals(configure):
    configure(token_keys=(OLD,))
    before = vault.seal("token", bound_to="row")
    configure(token_keys=(NEW, OLD))
    assert vault.unseal(before, bound_to="row") == "token"
    after = vault.seal("token", bound_to="row")
    configure(token_keys=(NEW,))
    assert vault.unseal(after, bound_to="row") == "token"
    with pytest.raises(vault.Unreadable):
        vault.unseal(before, bound_to="row")


def test_without_keys_the_secret_key_seals_and_its_fallbacks_open(settings):
    sealed = vault.seal("token", bound_to="row")
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another-" + "y" * 50
    with pytest.raises(vault.Unreadable):
        vault.unseal(sealed, bound_to="row")
    settings.SECRET_KEY_FALLBACKS = [former]
    assert vault.unseal(sealed, bound_to="row") == "token"


def test_the_derived_key_is_not_the_secret_key_itself(settings):
    assert settings.SECRET_KEY not in repr(vault._keys().__dict__)
