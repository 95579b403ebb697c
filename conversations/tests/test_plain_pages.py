"""What a person reads where there is nothing, nothing for them, or something broke."""

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from conversations.tests import operators as make

pytestmark = pytest.mark.django_db

USERS = "admin:auth_user_changelist"


@pytest.fixture
def broken(monkeypatch):
    """Nothing that this server is asked works; a person's browser gets what is left to say."""

    def away(*_anything):
        raise OperationalError("the database is away")

    monkeypatch.setattr("conversations.views.boot", away)
    return Client(raise_request_exception=False)


def test_an_address_without_a_page_leads_back_to_the_conversation():
    response = Client().get("/nope")
    assert response.status_code == 404
    assert 'href="/"' in make.words(response)
    assert "nothing at this address" in make.words(response)


def test_an_operators_address_without_a_page_leads_back_to_their_pages():
    response = make.viewer().get("/admin/nope/")
    assert response.status_code == 404
    assert f'href="{reverse("admin:index")}"' in make.words(response)


def test_a_page_that_an_account_may_not_open_says_what_would_be_needed():
    response = make.viewer().get(reverse(USERS))
    assert response.status_code == 403
    assert f'href="{reverse("admin:index")}"' in make.words(response)
    assert "groups" in make.words(response)


def test_a_form_without_its_token_is_told_what_to_do():
    response = Client(enforce_csrf_checks=True).post(reverse("admin:login"), {"username": "olga"})
    assert response.status_code == 403
    assert "reload the page" in make.words(response)


def test_what_broke_has_a_reference_that_the_log_has_too_and_asks_no_database(
    broken, django_assert_num_queries
):
    with django_assert_num_queries(0):
        response = broken.get("/")
    assert response.status_code == 500
    assert f"Reference {response['X-Request-ID'][:8]}" in make.words(response)
    assert "database" not in make.words(response)


def test_each_follows_the_browsers_language(broken):
    spanish = {"HTTP_ACCEPT_LANGUAGE": "es-AR,es;q=0.9,en;q=0.5"}
    told = {
        "No hay nada en esta dirección.": Client().get("/nope", **spanish),
        "Tu cuenta no puede abrir esto.": make.viewer().get(reverse(USERS), **spanish),
        "No se ha podido aceptar ese formulario.": Client(enforce_csrf_checks=True).post(
            reverse("admin:login"), **spanish
        ),
        "Algo ha fallado en el servidor.": broken.get("/", **spanish),
    }
    for heading, response in told.items():
        assert heading in make.words(response)
        assert '<html lang="es">' in make.words(response)
        assert response["Content-Language"] == "es"
        assert "Accept-Language" in response["Vary"]
    assert '<html lang="en">' in make.words(Client().get("/nope", HTTP_ACCEPT_LANGUAGE="fr"))
