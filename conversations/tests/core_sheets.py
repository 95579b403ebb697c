"""A played call in which a tool needs the caller's tap: its sheets, and the taps on them."""

import json

from conversations.core import events as e
from conversations.tests.core_play import Play, R

DELETE = "delete_item"
TAP_LIMIT = 90


class AskingPlay(Play):
    """`taps` answers a sheet; `sheets` and `withdrawn` are what the page was told since the last look."""

    def __init__(self, has_sheets=True, objection=lambda _name, _arguments: "", **options):
        tools = {"confirm_tools": frozenset({DELETE}), "has_sheets": has_sheets, "objection": objection}
        super().__init__(**options, **tools)

    def picks_deletion(self, item=7, call_id="call_1", response_id=R):
        """The model wants to delete something; the sheet that was opened for it, if any."""
        before = len(self.sheets)
        self.picks(response_id, DELETE, json.dumps({"item": item}), call_id)
        opened = self.sheets[before:]
        return opened[0] if opened else None

    def taps(self, sheet, answer="yes"):
        """The caller answers a sheet."""
        self.happens(e.ConfirmAnswered(sheet["nonce"], answer == "yes"))

    @property
    def commands(self):
        """What the page was told to do: (command, payload)."""
        frames = [frame["data"] for frame in self.seen if frame["type"] == "ui-command"]
        return [(data["command"], data["payload"]) for data in frames]

    @property
    def sheets(self):
        """The sheets that were opened, in order."""
        return [payload for command, payload in self.commands if command == "open_confirm"]

    @property
    def withdrawn(self):
        """The sheets that were closed: (nonce, reason)."""
        closed = [payload for command, payload in self.commands if command == "close_confirm"]
        return [(payload["nonce"], payload["reason"]) for payload in closed]

    @property
    def complaints(self):
        """The codes of the errors that the caller was told."""
        return [fields["code"] for name, fields in self.told if name == "error"]


def asking(**options):
    """A typed question whose response has begun."""
    play = AskingPlay(**options)
    play.types("Delete item seven.")
    play.begins_response(R)
    return play.look_away()


def a_sheet(**options):
    """The same where the response has picked a tool that asks first; the play and its open sheet."""
    play = asking(**options)
    sheet = play.picks_deletion()
    play.ends_response(R)
    return play.look_away(), sheet
