"""The command, the page about it, and the control endpoint that another process uses."""

import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from demo.aquaportal.accounts import fingerprint
from demo.aquaportal.testing import running_portal

ADMINISTRATOR = "+34600000001"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def running():
    with running_portal() as portal:
        yield portal


@pytest.fixture
def portal(running):
    running.reset()
    return running


def control(portal, **order):
    return httpx2.post(portal.control_url, json=order, trust_env=False)


def journal(portal):
    return httpx2.get(portal.control_url, trust_env=False).json()["requests"]


def test_the_page_says_that_it_is_a_stand_in(portal):
    page = httpx2.get(portal.url, trust_env=False)
    assert page.headers["Content-Type"].startswith("text/html")
    assert "demo stand-in for AquaPortal" in page.text


def test_faults_are_added_and_cleared(portal):
    shown = control(portal, add=[{"kind": "status", "on": "login", "status": 502}]).json()
    assert [(fault["kind"], fault["status"]) for fault in shown["faults"]] == [("status", 502)]
    assert httpx2.post(portal.login_url, json={}, trust_env=False).status_code == 502
    assert control(portal, clear=True).json()["faults"] == []


def test_switches_are_changed_and_set_back(portal):
    switched = control(portal, switch={"extra_tools": ["delete_report"], "stateless": True}).json()[
        "switches"
    ]
    assert (switched["extra_tools"], switched["stateless"]) == (["delete_report"], True)
    assert control(portal, clear=True).json()["switches"]["extra_tools"] == []


@pytest.mark.parametrize("end", ["expire", "revoke"])
@pytest.mark.parametrize("phone", [ADMINISTRATOR, "*"])
def test_tokens_are_ended_now(portal, end, phone):
    headers = {"Authorization": f"Bearer {portal.log_in(ADMINISTRATOR)}"}
    assert httpx2.post(portal.mcp_url, headers=headers, trust_env=False).status_code != 401
    control(portal, **{end: phone})
    answer = httpx2.post(portal.mcp_url, headers=headers, trust_env=False)
    assert answer.status_code == 401
    assert "The token is" in answer.headers["WWW-Authenticate"]


def test_the_journal_shows_fingerprints_and_no_token(portal):
    token = portal.log_in(ADMINISTRATOR)
    httpx2.post(portal.mcp_url, headers={"Authorization": f"Bearer {token}"}, trust_env=False)
    shown = journal(portal)
    assert [(entry["method"], entry["path"]) for entry in shown] == [("POST", "/login"), ("POST", "/mcp")]
    assert shown[0]["caller"] == ADMINISTRATOR
    assert shown[1]["token"] == fingerprint(token)
    assert token not in str(shown)
    control(portal, forget=True)
    assert journal(portal) == []


@pytest.mark.parametrize(
    "order",
    [
        {"explode": True},
        {"add": [{"kind": "explode"}]},
        {"add": [{"kind": "slow", "colour": "red"}]},
        {"add": [{}]},
        {"switch": {"nothing": 1}},
    ],
)
def test_an_order_that_makes_no_sense_is_refused_with_what_is_known(portal, order):
    answer = control(portal, **order)
    assert answer.status_code == 400
    assert "seconds" in answer.json()["known"]["fault"]
    assert portal.faults.active == []


def test_a_page_of_another_site_cannot_order_anything(portal):
    form = httpx2.post(
        portal.control_url, content='{"clear": true}', headers={"Content-Type": "text/plain"}, trust_env=False
    )
    assert form.status_code == 415
    rebound = httpx2.get(portal.control_url, headers={"Host": "attacker.example"}, trust_env=False)
    assert rebound.status_code == 404


def test_the_command_prints_one_line_when_it_accepts_connections():
    command = [sys.executable, "-m", "demo.aquaportal", "--port", "0", "--today", "2026-08-05", "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            url = re.search(r"login (http://127\.0\.0\.1:\d+)/login", line)[1]
            answer = httpx2.post(f"{url}/login", json={"phone": ADMINISTRATOR}, trust_env=False)
            shown = httpx2.get(f"{url}/control", trust_env=False).json()
        finally:
            process.terminate()
            rest = process.stdout.read()
    assert "demo stand-in ready" in line
    assert (answer.status_code, shown["switches"]["json_answers"], rest) == (200, True, "")
