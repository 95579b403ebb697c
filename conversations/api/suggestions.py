"""Questions that a page may offer to its caller, and what it calls the tools that answer them."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from ninja import Router

from conversations import suggestions
from conversations.api.conversations import OWNER, language, owned
from conversations.api.schemas import ProblemOut, SuggestionsOut

router = Router(tags=["conversations"])


@router.get(
    "/conversations/{conversation_id}/suggestions",
    auth=OWNER,
    response={200: SuggestionsOut, frozenset({401, 404}): ProblemOut},
    summary="Questions for the tools that this caller has; none while these are not discovered",
)
async def read(request: HttpRequest, conversation_id: str, response: HttpResponse) -> dict[str, object]:
    conversation = await sync_to_async(owned)(request, conversation_id)
    response["Cache-Control"] = "no-store"
    found = await suggestions.suggested(conversation, language(request))
    return {"suggestions": [{"text": text} for text in found.questions], "labels": found.labels}
