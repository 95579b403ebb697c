"""Who may ask the brain, what is refused and how, the answer as one body, messages for a running turn."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pydantic import BaseModel

from conversations.brains import Action
from conversations.identity import keys
from conversations.models import Conversation, Turn
from conversations.tests.brain_kit import ScriptedBrain, picks, scripted
from conversations.tests.login_server import ADMINISTRATOR, MANAGER
from conversations.tests.people import Integrator
from conversations.tests.rows import ago, changed
from vocero.services import Reasoning

pytestmark = pytest.mark.django_db(transaction=True)


class Place(BaseModel):
    page: str


class GoTo(Action):
    page: str


class GuideBrain(ScriptedBrain):
    @property
    def tools(self):
        return [self.go, self.whoami]

    async def go(self, place: Place):
        """Opens a page."""
        self.session.dispatch(GoTo(page=place.page))
        return "opened"

    async def whoami(self):
        """Says who is calling."""
        return self.session.caller


@pytest.fixture
def guide(configure, portal):
    """A deployment whose brain answers like this; AquaPortal is not reached."""

    def say(*answers, **changes):
        configure(reasoning=scripted(GuideBrain, *answers), mcp_url="", **{"rate_reasoning": 100, **changes})

    return say


@pytest.fixture
def ada(guide, caller):
    guide(["Hello."])
    caller.conversation_id = caller.conversation(phone=ADMINISTRATOR)["id"]
    return caller


def ask(person, text="Hello?", conversation=None, accept="application/json", **more):
    named = conversation or getattr(person, "conversation_id", "")
    headers = {"X-Vocero-Conversation": named, "Accept": accept, **more}
    return person.send("POST", "/api/reasoning", {"text": text}, **headers)


def told(response):
    assert response["Content-Type"] == "application/problem+json"
    return response.status_code, response.json()["code"]


def message(**data):
    return {"label": "rtvi-ai", "type": "client-message", "id": "m-1", "data": data}


def test_one_body_holds_the_answer_its_tools_and_the_screen_s_actions(ada, guide):
    guide(["I open it.", picks("go", page="reports")], ["There it is."])
    response = ask(ada, "Show me the reports")
    assert response.status_code == 200
    body = response.json()
    assert body["text"] == "I open it.\nThere it is."
    assert body["actions"] == [{"command": "go_to", "payload": {"page": "reports"}}]
    (call,) = body["tool_calls"]
    assert (call["name"], call["status"], call["code"]) == ("go", "completed", "")
    assert (body["type"], body["turn"]) == ("turn.completed", 1)
    assert response["X-Vocero-Conversation"] == ada.conversation_id
    assert (response["X-Vocero-Turn"], response["X-Vocero-Mode"]) == ("1", "plain")
    assert response["Cache-Control"] == "no-store"


def test_a_tool_that_needs_a_tap_is_declined_at_once_where_the_answer_is_one_body(ada, guide):
    guide([picks("go", page="x")], ["I may not."], confirm_tools=("go",))
    body = ask(ada).json()
    assert [call["code"] for call in body["tool_calls"]] == ["confirmation_declined"]
    assert body["text"] == "I may not."


def test_the_brain_knows_the_caller_and_what_was_heard_before_and_no_more(ada, guide):
    guide(["One."], ["Two."], ["Three."], history_turns=1)
    for text in ("first", "second", "third"):
        assert ask(ada, text).status_code == 200
    brain = ScriptedBrain.made[-1]
    assert brain.session.caller == "Ada Admin"
    assert brain.session.id == ada.conversation_id
    assert [(said.role, said.text) for said in brain.requests[-1].history] == [
        ("caller", "second"),
        ("assistant", "Two."),
    ]


def test_a_failed_turn_is_a_problem_with_the_caller_s_sentence(ada, guide):
    guide([])
    response = ask(ada)
    assert told(response) == (502, "no_answer")
    body = response.json()
    assert body["message"] == "Sorry, I have no answer. Please try again."
    assert (body["turn"], body["actions"], body["request_id"] != "") == (1, [], True)
    (turn,) = Turn.objects.all()
    assert (turn.outcome, turn.code, turn.ref) == ("failed", "no_answer", body["ref"])


def test_the_apology_is_in_the_caller_s_language(ada, guide):
    guide([])
    assert ask(ada, **{"Accept-Language": "es"}).json()["message"].startswith("Lo siento")


def test_three_people_can_ask_in_their_own_conversation_only(ada, guide, other, stranger):
    guide(["One."], ["Two."])
    other.conversation_id = other.conversation(phone=MANAGER)["id"]
    assert ask(ada).status_code == 200
    assert ask(other).status_code == 200
    assert told(ask(other, conversation=ada.conversation_id)) == (404, "not_found")
    assert told(ask(other, conversation="00000000-0000-0000-0000-000000000000")) == (404, "not_found")
    assert told(ask(stranger, conversation=ada.conversation_id)) == (401, "unauthorized")
    path = f"/api/conversations/{ada.conversation_id}/messages"
    assert told(ada.post(path, message(t="x", d={}))) == (409, "no_turn")
    assert told(other.post(path, message(t="x", d={}))) == (404, "not_found")
    assert told(stranger.post(path, message(t="x", d={}))) == (401, "unauthorized")
    assert Turn.objects.count() == 2


def test_another_site_s_page_cannot_ask_nor_send_messages(ada):
    assert told(ask(ada, forged=True)) == (403, "csrf_failed")
    path = f"/api/conversations/{ada.conversation_id}/messages"
    assert told(ada.post(path, message(t="x", d={}), forged=True)) == (403, "csrf_failed")


def test_a_client_secret_needs_no_csrf_token_and_no_header(ada, guide):
    key = keys.make("shop").text
    made = Integrator(key).send("POST", "/v1/realtime/client_secrets", {"phone": ADMINISTRATOR}).json()
    guide(["Hello."])
    client = Integrator(made["value"])
    client.client.defaults["HTTP_ACCEPT"] = "application/json"
    response = client.send("POST", "/api/reasoning", {"text": "Hi"})
    assert response.json()["text"] == "Hello."
    assert response["X-Vocero-Conversation"] == made["conversation"]["id"]
    assert told(Integrator("ek_wrong").send("POST", "/api/reasoning", {"text": "Hi"})) == (
        401,
        "unauthorized",
    )


def test_a_conversation_that_is_over_answers_nothing(ada):
    changed(Conversation.objects.get(), last_seen_at=ago(seconds=10_000))
    assert told(ask(ada)) == (409, "conversation_closed")
    assert Turn.objects.count() == 0


def test_a_turn_beside_another_is_refused_spoken_ones_too(ada):
    conversation = Conversation.objects.get()
    lease = timezone.now() + timedelta(seconds=10)
    changed(conversation, turn_key="another", turn_lease_expires_at=lease)
    assert told(ask(ada)) == (409, "turn_in_progress")
    changed(conversation, turn_key="", turn_lease_expires_at=None, lease_expires_at=lease)
    turn = Turn.objects.create(conversation=conversation, index=1, origin="voice", started_at=timezone.now())
    assert told(ask(ada)) == (409, "turn_in_progress")
    Turn.objects.filter(pk=turn.pk).update(outcome="done")
    assert ask(ada).status_code == 200


def test_what_a_killed_process_left_blocks_nobody(ada):
    conversation = Conversation.objects.get()
    changed(conversation, turn_key="dead", turn_lease_expires_at=ago(seconds=1))
    Turn.objects.create(conversation=conversation, index=1, origin="http", started_at=timezone.now())
    assert ask(ada).status_code == 200
    assert [turn.outcome for turn in Turn.objects.order_by("index")] == ["failed", "done"]


def test_without_a_brain_nothing_can_be_asked(ada, configure):
    configure(reasoning=Reasoning())
    assert told(ask(ada)) == (404, "reasoning_disabled")


@pytest.mark.parametrize("text", ["", "   ", "x" * 8001])
def test_a_question_has_some_words_and_not_too_many(ada, text):
    assert told(ask(ada, text)) == (400, "invalid")


@pytest.mark.usefixtures("one_minute")
def test_who_asks_too_often_has_to_wait(ada, guide):
    guide(["One."], ["Two."], rate_reasoning=1)
    assert ask(ada).status_code == 200
    response = ask(ada)
    assert told(response) == (429, "rate_limited")
    assert int(response["Retry-After"]) > 0


def test_a_message_is_an_rtvi_client_message(ada):
    path = f"/api/conversations/{ada.conversation_id}/messages"
    for body in (
        {},
        {**message(t="x"), "type": "bot-ready"},
        message(t=""),
        message(t="confirm_answer", d={}),
    ):
        assert told(ada.post(path, body)) == (400, "invalid")


class Polite(GuideBrain):
    greeted = 0

    async def greet(self, session):
        Polite.greeted += 1
        assert session is self.session
        session.dispatch(GoTo(page="start"))
        if self.answers == [["Broken."]]:
            raise ValueError("no greeting today")
        return "Welcome!"


def test_a_brain_prepares_in_greet_before_the_first_question_also_where_that_fails(ada, configure, caplog):
    Polite.greeted = 0
    configure(reasoning=scripted(Polite, ["Hello."]))
    body = ask(ada).json()
    assert (body["text"], body["actions"]) == ("Hello.", [{"command": "go_to", "payload": {"page": "start"}}])
    configure(reasoning=scripted(Polite, ["Broken."]))
    assert ask(ada).json()["text"] == "Broken."
    assert "brain: greeting failed" in caplog.text
    assert Polite.greeted == 2
