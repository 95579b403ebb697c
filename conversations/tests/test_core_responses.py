"""The one sender of `response.create`: one outstanding, races waited out, nothing asked twice or lost."""

from itertools import count

import pytest
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from conversations.core.effects import CancelResponse, ClearTimer, CreateResponse, SetTimer
from conversations.core.generation import Generation
from conversations.core.responses import CANCEL_TIMER, CANCEL_WAIT, Responses
from conversations.tests.core_play import PROFILE

pytestmark = pytest.mark.every_dialect

ACTIVE = "conversation_already_has_active_response"
PENDING = "function_call_output_pending"


@pytest.fixture
def generation():
    return Generation()


@pytest.fixture
def responses(generation):
    numbers = count(1)
    return Responses(lambda: f"event_{next(numbers)}", generation)


def asked(effects):
    """The one request among them."""
    (one,) = [effect for effect in effects if isinstance(effect, CreateResponse)]
    return one


def nothing_asked(effects):
    return not any(isinstance(effect, CreateResponse) for effect in effects)


def cancelled(effects):
    return [effect.response_id for effect in effects if isinstance(effect, CancelResponse)]


def test_a_wish_is_asked_at_once_when_nothing_runs(responses):
    assert asked(responses.want({"output_modalities": ["text"]})).options == {"output_modalities": ["text"]}
    assert responses.expecting


def test_wishes_in_one_moment_are_one_wish_case_022(responses):
    responses.started("r1")
    for options in ({"a": 1}, {}, {"b": 2}):
        assert responses.want(options) == []
    responses.want(last=True)
    request = asked(responses.finished("r1"))
    assert (request.options, request.last) == ({"a": 1, "b": 2}, True)
    assert nothing_asked(responses.finished("r1"))


def test_a_second_wish_waits_for_the_first_one_s_response(responses):
    asked(responses.want())
    assert responses.want() == []
    assert responses.started("r1") == (True, [])
    assert asked(responses.finished("r1"))


def test_a_create_waits_for_the_end_of_what_was_cancelled_case_003(responses):
    responses.started("r1")
    assert responses.cancel() == [CancelResponse("r1"), SetTimer(CANCEL_TIMER, CANCEL_WAIT)]
    assert responses.want() == []
    effects = responses.finished("r1")
    assert effects[0] == ClearTimer(CANCEL_TIMER)
    assert asked(effects)


def test_a_service_that_never_confirms_a_cancel_is_waited_for_so_long_only(responses):
    responses.started("r1")
    responses.cancel()
    responses.want()
    assert asked(responses.waited_long_enough())
    assert responses.started("r1") == (False, [])
    assert responses.finished("r1") == []
    assert responses.expecting, "the end of the old one is not the end of the new one"


def test_a_request_that_is_cancelled_before_its_answer_is_announced_is_cancelled_on_arrival_case_006(
    responses,
):
    responses.want()
    responses.cancel()
    assert not responses.expecting
    heard, effects = responses.started("r1")
    assert not heard
    assert cancelled(effects) == ["r1"]
    assert responses.started("r1") == (False, [])
    asked(responses.want() + responses.finished("r1"))
    assert responses.started("r2") == (True, [])


def test_a_wish_of_an_older_generation_is_not_asked_for_any_more(responses, generation):
    responses.started("r1")
    responses.want({"a": 1})
    generation.rise()
    assert cancelled(responses.cancel()) == ["r1"]
    assert not responses.expecting
    assert nothing_asked(responses.finished("r1"))
    assert asked(responses.want({"b": 2})).options == {"b": 2}


def test_every_cancel_names_each_response_that_is_heard_case_007(responses):
    responses.started("r2")
    responses.started("r1")
    assert cancelled(responses.cancel()) == ["r1", "r2"]
    assert cancelled(responses.cancel()) == []


def test_one_response_can_be_cancelled_without_the_wish_for_the_next(responses):
    responses.started("r1")
    assert cancelled(responses.cancel_one("r1")) == ["r1"]
    assert responses.cancel_one("r1") == []
    assert not responses.audible
    responses.want()
    assert asked(responses.finished("r1"))


@pytest.mark.parametrize("told", [True, False], ids=["by-event-id", "by-code"])
def test_already_active_means_wait_and_send_once_case_002(responses, told):
    """The service was faster, and its response cannot be an answer to what it had not yet got."""
    responses.item_sent("i0", "message")
    responses.item_acknowledged("i0")
    responses.item_sent("i1", "message")
    request = asked(responses.want())
    assert responses.started("r1") == (True, [])
    assert responses.refused(request.event_id if told else "", ACTIVE) == (False, [])
    responses.item_acknowledged("i1")
    assert asked(responses.finished("r1"))


def test_a_response_that_begins_after_our_item_was_there_is_the_answer_to_it_case_002(responses):
    responses.item_sent("i1", "message")
    request = asked(responses.want())
    responses.item_acknowledged("i1")
    responses.started("r1")
    assert responses.refused(request.event_id, ACTIVE) == (False, [])
    assert nothing_asked(responses.finished("r1"))
    assert not responses.expecting


def test_a_service_that_acknowledges_messages_but_no_outputs_is_taken_to_answer_outputs(responses):
    responses.item_sent("i1", "message")
    responses.item_acknowledged("i1")
    responses.item_sent("i2", "function_call_output")
    responses.want()
    responses.started("r1")
    responses.finished("r1")
    assert not responses.expecting


def test_an_item_that_the_service_refuses_is_not_waited_for(responses):
    responses.item_sent("i1", "message")
    responses.item_acknowledged("i1")
    responses.item_sent("i2", "message")
    responses.want()
    responses.refused("", "invalid_value")
    responses.started("r1")
    responses.finished("r1")
    assert not responses.expecting


def test_a_service_that_never_acknowledges_is_taken_to_answer(responses):
    responses.item_sent("i1", "message")
    request = asked(responses.want())
    responses.started("r1")
    responses.refused(request.event_id, ACTIVE)
    assert nothing_asked(responses.finished("r1"))


def test_an_active_response_that_nobody_told_of_is_waited_for(responses):
    request = asked(responses.want())
    assert responses.refused(request.event_id, ACTIVE) == (False, [])
    assert responses.expecting
    assert responses.want() == [], "no second request while the first one's obstacle is unknown"
    assert asked(responses.finished("unknown"))


def test_an_active_response_that_shows_itself_after_the_refusal_is_the_answer(responses):
    request = asked(responses.want())
    responses.refused(request.event_id, ACTIVE)
    assert responses.started("r1") == (True, [])
    assert nothing_asked(responses.finished("r1"))


def test_an_output_that_the_service_missed_is_sent_before_it_is_asked_again(responses):
    request = asked(responses.want())
    assert responses.refused(request.event_id, PENDING) == (False, [])
    assert asked(responses.item_sent("output", "message"))


def test_any_other_refusal_of_our_request_is_a_failure_told_once(responses):
    request = asked(responses.want())
    assert responses.refused(request.event_id, "rate_limit_exceeded") == (True, [])
    assert not responses.busy
    assert responses.refused(request.event_id, "rate_limit_exceeded") == (False, [])


@pytest.mark.parametrize(
    ("event_id", "code"),
    [("", "response_cancel_not_active"), ("event_9", ACTIVE), ("", "invalid_value"), ("event_9", "x")],
)
def test_a_complaint_about_something_else_leaves_the_request_alone_case_005(responses, event_id, code):
    responses.want()
    assert responses.refused(event_id, code) == (False, [])
    assert responses.expecting
    responses.cancel()
    assert responses.started("r1")[0] is False, "the request is still known, so its answer can be cancelled"


def test_a_refusal_of_a_cancelled_request_is_no_failure(responses):
    request = asked(responses.want())
    responses.cancel()
    assert responses.refused(request.event_id, "rate_limit_exceeded")[0] is False
    assert not responses.busy


def test_a_complaint_that_names_nothing_does_not_save_a_cancelled_request(responses):
    responses.want()
    responses.cancel()
    responses.refused("", ACTIVE)
    assert responses.started("r1")[0] is False


def test_an_answer_that_was_given_up_is_unwelcome_even_later(responses):
    responses.want()
    responses.cancel()
    responses.waited_long_enough()
    assert responses.started("r1")[0] is False


def test_an_answer_that_the_service_was_about_to_give_by_itself_is_unwelcome_after_a_cancel(responses):
    responses.cancel(unanswered=True)
    heard, effects = responses.started("r1")
    assert (heard, cancelled(effects)) == (False, ["r1"])
    responses.finished("r1")
    assert responses.started("r2") == (True, [])


def test_what_the_service_answers_to_new_speech_is_welcome(responses):
    responses.cancel(unanswered=True)
    responses.welcome()
    assert responses.started("r1") == (True, [])


def test_a_request_is_not_mistaken_for_the_unwelcome_answer(responses):
    responses.item_sent("i0", "message")
    responses.item_acknowledged("i0")
    responses.cancel(unanswered=True)
    responses.item_sent("i1", "message")
    responses.want()
    assert responses.started("r1")[0] is False, "it began before the service had our item"
    responses.item_acknowledged("i1")
    responses.finished("r1")
    assert responses.started("r2") == (True, [])


def test_a_service_that_acknowledges_is_known_by_any_item_of_that_kind(responses):
    responses.item_sent("i0", "message")
    responses.item_sent("i1", "message")
    responses.item_acknowledged("i0")
    responses.cancel(unanswered=True)
    responses.want()
    assert responses.started("r1")[0] is False, "it began before the service had our last item"


def test_the_output_of_a_response_after_its_end_does_not_bring_it_back(responses):
    responses.started("r1")
    responses.finished("r1")
    assert responses.started("r1") == (False, [])
    assert not responses.busy


class Sequencer(RuleBasedStateMachine):
    """Any order of wishes, cancels, announcements, ends and refusals.

    As in GA, a request that crosses a response of the service's own is refused before that response ends.
    """

    def __init__(self):
        super().__init__()
        numbers = count(1)
        self.generation = Generation()
        self.responses = Responses(lambda: f"event_{next(numbers)}", self.generation)
        self.names = count(1)
        self.outstanding = None
        self.running = []
        self.cancels = []
        self.timer = False

    @property
    def crossed(self):
        return self.outstanding is not None and bool(self.running)

    def take(self, effects):
        for effect in effects:
            note(effect)
            match effect:
                case CreateResponse():
                    assert self.outstanding is None, "one request is outstanding at most"
                    self.outstanding = effect
                case CancelResponse(response_id):
                    assert response_id not in self.cancels, "a response is cancelled once"
                    self.cancels.append(response_id)
                case SetTimer():
                    self.timer = True
                case ClearTimer():
                    self.timer = False

    @rule()
    def wish(self):
        self.take(self.responses.want())
        assert self.responses.expecting

    @rule(unanswered=st.booleans())
    def cancel(self, unanswered):
        self.generation.rise()
        self.take(self.responses.cancel(unanswered))
        assert not self.responses.expecting, "after a cancel nobody waits for anything"
        assert not self.responses.audible

    @rule()
    def speak(self):
        self.responses.welcome()

    @rule()
    def service_begins_by_itself(self):
        self.begin(f"r{next(self.names)}")

    @precondition(lambda self: self.outstanding and not self.running)
    @rule()
    def service_grants(self):
        self.outstanding = None
        self.begin(f"r{next(self.names)}")

    def begin(self, response_id):
        heard, effects = self.responses.started(response_id)
        self.running.append(response_id)
        self.take(effects)
        assert heard or response_id in self.cancels, "what is not heard is cancelled"

    @precondition(lambda self: self.outstanding)
    @rule(code=st.sampled_from([ACTIVE, PENDING, "server_error"]), named=st.booleans())
    def service_refuses(self, code, named):
        event_id = self.outstanding.event_id if named or code == "server_error" else ""
        self.outstanding = None
        self.take(self.responses.refused(event_id, code)[1])

    @precondition(lambda self: self.running and not self.crossed)
    @rule(data=st.data())
    def service_ends(self, data):
        response_id = data.draw(st.sampled_from(self.running))
        self.running.remove(response_id)
        self.take(self.responses.finished(response_id))

    @precondition(lambda self: self.timer and not self.crossed)
    @rule()
    def time_passes(self):
        self.timer = False
        if self.responses._asked_doomed:
            self.outstanding = None
        self.take(self.responses.waited_long_enough())

    @rule(sent=st.booleans())
    def item(self, sent):
        if sent:
            self.take(self.responses.item_sent("i", "message"))
        else:
            self.responses.item_acknowledged("i")

    @invariant()
    def a_cancel_is_always_watched(self):
        assert self.timer or not (set(self.cancels) & self.responses._active)

    @invariant()
    def a_wish_never_gets_lost_while_nothing_stands_in_its_way(self):
        assert self.responses._wish is None or self.responses.busy


TestSequencer = Sequencer.TestCase
TestSequencer.settings = PROFILE
