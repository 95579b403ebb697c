"""A caller's thumb up or down for an answer."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Path, Router

from conversations import ratings
from conversations.api.conversations import OWNER, owned
from conversations.api.problems import Problem
from conversations.api.schemas import ProblemOut, RatingIn, RatingOut

router = Router(tags=["conversations"])

# As far as the column goes.
_LAST_TURN = 2**31 - 1


@router.put(
    "/conversations/{conversation_id}/turns/{turn}/rating",
    auth=OWNER,
    response={200: RatingOut, frozenset({400, 401, 403, 404, 413, 415}): ProblemOut},
    summary="Rate the answer of a turn, or take the rating back; also after the conversation has closed",
)
def rate(
    request: HttpRequest,
    conversation_id: str,
    turn: Annotated[int, Path(ge=0, le=_LAST_TURN)],
    body: RatingIn,
    response: HttpResponse,
) -> RatingOut:
    conversation = owned(request, conversation_id)
    if not ratings.rate(conversation, turn, body.rating):
        raise Problem("not_found")
    response["Cache-Control"] = "no-store"
    return RatingOut(turn=turn, rating=body.rating)
