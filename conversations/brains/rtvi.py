"""Messages between app and brain, in RTVI's envelope: `{"label": "rtvi-ai", "type", "id", "data"}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from conversations.brains.actions import Action

LABEL = "rtvi-ai"


class RTVIType(StrEnum):
    """The kinds of message that pass here."""

    CLIENT_MESSAGE = "client-message"
    UI_COMMAND = "ui-command"


@dataclass(frozen=True, slots=True)
class RTVIMessage:
    """One message of the app's: `data` is `{"t": what it is about, "d": what it says}`."""

    type: RTVIType
    id: str
    data: Mapping[str, Any] = field(default_factory=dict)


def ui_command(action: Action, command_id: str) -> dict[str, Any]:
    """The action in the envelope, as the browser gets it."""
    data = {"command": action.command(), "payload": action.payload()}
    return {"label": LABEL, "type": RTVIType.UI_COMMAND.value, "id": command_id, "data": data}
