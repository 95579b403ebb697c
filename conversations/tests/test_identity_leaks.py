"""No credential and no phone stays where it is not needed: database, logs, answers."""

import logging
from urllib.parse import parse_qs, urlsplit

import pytest

from conversations.identity import keys, links
from conversations.tests.login_server import ADMINISTRATOR, MANAGER
from conversations.tests.people import Integrator
from conversations.tests.stored import whole_database

pytestmark = pytest.mark.django_db


def test_tokens_phones_secrets_and_links_are_nowhere_case_166_172(portal, caller, caplog):
    answers = []
    with caplog.at_level(logging.DEBUG):
        link = parse_qs(urlsplit(links.issue(MANAGER).address).query)["link"][0]
        key = keys.make("shop").text
        answers.append(caller.bootstrap(phone=ADMINISTRATOR))
        answers.append(caller.bootstrap(link=link))
        answers.append(Integrator(key).send("POST", "/v1/realtime/client_secrets", {"phone": ADMINISTRATOR}))
        secret = answers[-1].json()["value"]
        conversation = answers[-1].json()["conversation"]["id"]
        Integrator(secret).send("DELETE", f"/api/conversations/{conversation}")
    logged = "\n".join(f"{record.getMessage()} {record.args} {record.exc_text}" for record in caplog.records)
    assert len(portal.tokens) == 3
    kept, told = whole_database(), "\n".join(str(answer.content) for answer in answers)
    for hidden in (*portal.tokens, ADMINISTRATOR[1:], MANAGER[1:], key, link, caller.cookie):
        assert hidden not in kept + logged + told
    assert secret not in kept + logged
    assert "conversation.opened" in logged
    assert "Ada Admin" in kept
