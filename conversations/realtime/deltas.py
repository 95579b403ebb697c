"""The service's most frequent frames, pieces of audio and of text, read without being taken apart."""

from __future__ import annotations

from typing import Annotated

import msgspec

from conversations.core import events as e

BYTES_A_MILLISECOND = 48  # PCM16, one channel, 24 kHz
AUDIO = "response.output_audio.delta"
TRANSCRIPT = "response.output_audio_transcript.delta"
TEXT = "response.output_text.delta"

Piece = e.AudioDelta | e.TextDelta
_Id = Annotated[str, msgspec.Meta(max_length=512)]


class _Delta(msgspec.Struct, forbid_unknown_fields=True):
    """A piece; what else a service may add to it is read elsewhere."""

    type: str
    delta: str
    event_id: _Id | None = None
    response_id: _Id | None = None
    item_id: _Id | None = None
    output_index: int | None = None
    content_index: int | None = None


_delta = msgspec.json.Decoder(_Delta)


def read(frame: str) -> Piece | None:
    """A piece of audio, which is measured but never decoded, or of text; None for any other frame.

    What it has besides the known fields, or in another shape, makes it another frame.
    """
    try:
        head = _delta.decode(frame)
    except (msgspec.DecodeError, RecursionError):
        return None
    kind, item_id, index = head.type, head.item_id or "", head.content_index or 0
    if kind == AUDIO:
        return e.AudioDelta(head.response_id or "", item_id, index, _milliseconds(head.delta), frame)
    if kind in (TRANSCRIPT, TEXT):
        return e.TextDelta(head.response_id or "", item_id, index, head.delta, frame, kind == TRANSCRIPT)
    return None


def _milliseconds(text: str) -> float:
    """How long a piece of audio is, by its length as base64."""
    return (len(text) - text.count("=", -2)) * 3 / 4 / BYTES_A_MILLISECOND
