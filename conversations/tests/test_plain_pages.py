"""What a person reads where there is nothing, or nothing for them."""

import pytest
from django.test import Client
from django.urls import reverse

from conversations.tests import operators as make

pytestmark = pytest.mark.django_db


def test_an_address_without_a_page_leads_back_to_the_conversation():
    response = Client().get("/nope")
    assert response.status_code == 404
    assert 'href="/"' in make.words(response)
    assert "nothing at this address" in make.words(response)


def test_a_page_that_an_account_may_not_open_says_what_would_be_needed():
    response = make.viewer().get(reverse("admin:auth_user_changelist"))
    assert response.status_code == 403
    assert f'href="{reverse("admin:index")}"' in make.words(response)
    assert "groups" in make.words(response)
