"""A small speech service for the core's tests: one response at a time, GA's rules, as slow as the test likes.

What the relay sends waits in `inbox` until the test lets the service read it; what a response says waits in
`script` until the test lets it speak.
"""

from collections import deque

from conversations.core import effects as fx
from conversations.tests import speech_events as ga

ACTIVE = "conversation_already_has_active_response"
PENDING = "function_call_output_pending"


class FakeService:
    """`acknowledges` its client's items, `announces` its responses, `confirms` that they are cancelled.

    A response that is not announced begins with its first word.
    """

    def __init__(self, server_tools, acknowledges=True, announces=True, confirms=True):
        self._server_tools = server_tools
        self._acknowledges, self._announces, self._confirms = acknowledges, announces, confirms
        self._numbers = ga.Numbers()
        self._end = None
        self.inbox = deque()
        self.script = deque()
        self.speaking = None
        self.created_for = {}
        self.answers = {}
        self.hidden_ids = set()

    @property
    def unanswered(self):
        """The calls that were told and have no output yet."""
        return [call_id for call_id, outputs in self.answers.items() if not outputs]

    # ---- speaking

    def begins(self, reply, wish=None):
        """A response begins: by itself, or because of a wish."""
        frames = ga.response(reply, self._numbers)
        self.speaking = frames[0]["response"]["id"]
        self.created_for[self.speaking] = wish
        self._end = frames[-1]
        self.script = deque(frames[1:])
        return [frames[0]] if self._announces else self.speaks(1)

    def speaks(self, count):
        """The next frames of what it says."""
        return [self._says(self.script.popleft()) for _ in range(min(count, len(self.script)))]

    def _says(self, frame):
        item = frame.get("item") or {}
        if item.get("type") == "function_call" and item["name"] in self._server_tools:
            self.hidden_ids |= {item["id"], item["call_id"]}
        if frame["type"] == "response.function_call_arguments.done":
            self.answers.setdefault(frame["call_id"], [])
        if frame["type"] == "response.done":
            self.speaking = None
        return frame

    def ends(self, status, straggler=False):
        """The response ends before all is said; a straggler comes after its end."""
        response_id, self.speaking = self.speaking, None
        output = [self._hide(item) for item in self._end["response"]["output"]]
        rest, self.script = list(self.script), deque()
        deltas = [frame for frame in rest if frame["type"].endswith(".delta")]
        return [ga.done(response_id, output, status), *(deltas[:1] if straggler else [])]

    def _hide(self, item):
        if item["type"] == "function_call" and item["name"] in self._server_tools:
            self.hidden_ids |= {item["id"], item["call_id"]}
        return item

    # ---- reading

    def receives(self, effect):
        """Something is on its way to the service."""
        self.inbox.append(effect)

    def reads(self, reply, straggler=False):
        """The service acts on the oldest thing that it was sent; `reply` is what it will say if asked."""
        match self.inbox.popleft():
            case fx.SendItem(item):
                return self._takes(item)
            case fx.CreateResponse() as wish:
                return self._is_asked(wish, reply)
            case fx.CancelResponse(response_id):
                if response_id != self.speaking:
                    return [self._complains("response_cancel_not_active")]
                ended = self.ends("cancelled", straggler)
                return ended if self._confirms else []
            case fx.Commit():
                return ga.committed(self._numbers.next("pushed"), "And cage six?")
            case fx.Retrieve(_, event_id):
                return [self._complains("item_retrieve_invalid_item_id", event_id)]
            case fx.Truncate():
                return [self._complains("invalid_value")]

    def _takes(self, item):
        if item["type"] == "function_call_output":
            assert item["call_id"] in self.answers, "an output is for a call that was told"
            self.answers[item["call_id"]].append(item["output"])
        return ga.item_events(dict(item)) if self._acknowledges else []

    def _is_asked(self, wish, reply):
        if self.speaking:
            return [self._complains(ACTIVE, wish.event_id)]
        if self.unanswered:
            return [self._complains(PENDING, wish.event_id)]
        return self.begins(reply, wish)

    @staticmethod
    def _complains(code, event_id=None):
        return {"type": "error", "error": {"code": code, "message": "No.", "event_id": event_id}}
