"""The service's most frequent frames, pieces of audio and of text, read without being taken apart."""

from __future__ import annotations

from typing import Annotated

import msgspec

from conversations.core import events as e

BYTES_A_MILLISECOND = 48  # PCM16, one channel, 24 kHz
AUDIO = "response.output_audio.delta"
TRANSCRIPT = "response.output_audio_transcript.delta"
TEXT = "response.output_text.delta"
_QUOTE = ord('"')

Piece = e.AudioDelta | e.TextDelta
_Id = Annotated[str, msgspec.Meta(max_length=512)]


class _Delta(msgspec.Struct, forbid_unknown_fields=True):
    """A piece; what else a service may add to it is read elsewhere."""

    type: str
    delta: msgspec.Raw
    event_id: _Id | None = None
    response_id: _Id | None = None
    item_id: _Id | None = None
    output_index: int | None = None
    content_index: int | None = None


_delta = msgspec.json.Decoder(_Delta)
_string = msgspec.json.Decoder(str)


def read(frame: str) -> Piece | None:
    """A piece of audio, which is measured but never decoded, or of text; None for any other frame.

    What it has besides the known fields, or in another shape, makes it another frame.
    """
    try:
        head = _delta.decode(frame)
        kind, place = head.type, (head.response_id or "", head.item_id or "", head.content_index or 0)
        if kind == AUDIO:
            duration = _milliseconds(memoryview(head.delta))
            return None if duration is None else e.AudioDelta(*place, duration, frame)
        if kind in (TRANSCRIPT, TEXT):
            return e.TextDelta(*place, _string.decode(head.delta), frame, kind == TRANSCRIPT)
    except (msgspec.DecodeError, RecursionError):
        pass
    return None


def _milliseconds(text: memoryview) -> float | None:
    """How long a piece of audio is, by its length as a JSON string of base64; None for anything else."""
    if text[0] != _QUOTE:
        return None
    padding = text[-3:-1].tobytes().count(b"=")
    return max(len(text) - 2 - padding, 0) * 3 / 4 / BYTES_A_MILLISECOND
