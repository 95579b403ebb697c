"""What a client may know before it is anybody."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from ninja import Router

from conversations import record
from conversations.api.schemas import ConfigOut

router = Router(tags=["configuration"])

AUDIO = {"type": "audio/pcm", "rate": 24_000, "channels": 1}
MESSAGE_BYTES = 1_048_576
MESSAGE_BYTES_UNTIL_READY = 262_144


@router.get("/config", response=ConfigOut, summary="Mode, features, audio format and limits")
def config(request: HttpRequest) -> dict[str, object]:
    vocero = settings.VOCERO
    return {
        "mode": vocero.mode,
        "connection": "relay",
        "features": {
            "speech": bool(vocero.speech_url),
            "login": bool(vocero.backend_login_url),
            "unsafe_phone_selector": vocero.unsafe_phone_selector,
            "web_search": vocero.web_search,
            "reasoning": vocero.reasoning.possible,
            "demo": vocero.demo,
        },
        "realtime": {"path": record.REALTIME_PATH, "audio": AUDIO},
        "limits": {
            "conversation_ttl": vocero.conversation_ttl,
            "conversation_idle": vocero.conversation_idle,
            "max_tool_calls": vocero.max_tool_calls,
            "message_bytes": MESSAGE_BYTES,
            "message_bytes_until_ready": MESSAGE_BYTES_UNTIL_READY,
            "body_bytes": settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        },
    }
