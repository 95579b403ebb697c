"""An example brain: tools of its own that use the ORM, actions on the screen, a tap before it erases.

S2S_BRAIN=demo.brains.NotebookBrain S2S_BRAIN_AS_LLM=true make demo
"""

import asyncio
import secrets
from collections.abc import Sequence
from typing import Any, Literal

from django.conf import settings
from pydantic import BaseModel, Field

from conversations.brains import Action, BrainSession, OpenAIBrain, RTVIMessage, RTVIType
from conversations.brains.openai import client
from conversations.models import Turn

TAP_SECONDS = 60
MOST = 5
INSTRUCTIONS = (
    "You are a voice assistant. Answer in one to three short sentences of plain words, from what your tools "
    "return. When a tool refuses or fails, say so in plain words."
)


class Toast(Action):
    """A short text on the page, for a while."""

    text: str


class Highlight(Action):
    """The page points at the part of it that has this `data-id`."""

    id: str


class Navigate(Action):
    """The page goes to another path of the same site, after it has said so."""

    path: str


class Shown(BaseModel):
    """One line of a sheet."""

    label: str
    value: str


class OpenConfirm(Action):
    """The page asks for a tap; it answers with the nonce."""

    nonce: str
    call_id: str = ""
    label: str
    summary: list[Shown]
    expires_in: int


class CloseConfirm(Action):
    """The page asks no more."""

    nonce: str
    reason: str


class Looking(BaseModel):
    """How far back."""

    limit: int = Field(MOST, ge=1, le=MOST, description="How many questions")


class Part(BaseModel):
    """A part of the page."""

    part: Literal["microphone", "question", "conversation"] = Field(description="Which part of the page")


class Erasing(BaseModel):
    """What is to be erased."""

    what: Literal["questions", "answers", "everything"] = Field("everything", description="What is erased")


class NotebookBrain(OpenAIBrain):
    """Knows what this conversation has recorded, points at the page, and erases the record after a tap."""

    def __init__(self) -> None:
        reasoning = settings.VOCERO.reasoning
        super().__init__(
            client=client(reasoning.base_url, reasoning.api_key),
            system_instruction=INSTRUCTIONS,
            model=reasoning.model,
        )
        self._taps: dict[str, asyncio.Future[bool]] = {}

    @property
    def tools(self) -> Sequence[Any]:
        """The three of them, for everybody."""
        return [self.recall_questions, self.point_at, self.erase_notebook]

    async def recall_questions(self, looking: Looking) -> dict[str, Any]:
        """Recall the questions that I asked before in this conversation."""
        asked = (
            self._finished().exclude(caller_text="").order_by("-index").values_list("caller_text", flat=True)
        )
        questions = [text async for text in asked[: looking.limit]]
        if not questions:
            return {"questions": [], "speech": "You have asked nothing before."}
        return {"questions": questions, "speech": f"You asked: {' '.join(questions)}"}

    async def point_at(self, part: Part) -> dict[str, Any]:
        """Point at a part of the page: where is the microphone, the question field, the conversation."""
        self.session.dispatch(Highlight(id=part.part))
        self.session.dispatch(Toast(text=f"This is the {part.part}."))
        return {"speech": f"I am pointing at the {part.part}."}

    async def erase_notebook(self, erasing: Erasing) -> dict[str, Any]:
        """Erase the notebook: what was said before in this conversation. The caller has to tap yes first."""
        approved = await self._asked("Erase what was said", [Shown(label="What", value=erasing.what)])
        if approved is None:
            return {"erased": 0, "speech": "You did not tap in time, so nothing was erased."}
        if not approved:
            return {"erased": 0, "speech": "You tapped no, so nothing was erased."}
        fields = {"questions": ["caller_text"], "answers": ["heard_text"]}
        names = fields.get(erasing.what, ["caller_text", "heard_text"])
        erased = await self._finished().aupdate(**dict.fromkeys(names, ""))
        self.session.dispatch(Toast(text="The notebook is empty."))
        return {"erased": erased, "speech": "The notebook is erased."}

    async def on_rtvi(self, session: BrainSession, msg: RTVIMessage) -> None:
        """The tap that a tool waits for; a nonce that nobody waits for is nothing."""
        if msg.type is not RTVIType.CLIENT_MESSAGE or msg.data.get("t") != "confirm_answer":
            return
        answer = msg.data.get("d") or {}
        waiting = self._taps.get(str(answer.get("nonce")))
        if waiting is not None and not waiting.done():
            waiting.set_result(answer.get("answer") == "yes")

    async def _asked(self, label: str, summary: list[Shown]) -> bool | None:
        """Whether the caller tapped yes; None where they did not tap in time."""
        nonce = secrets.token_urlsafe(16)
        tapped: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._taps[nonce] = tapped
        sheet = OpenConfirm(nonce=nonce, label=label, summary=summary, expires_in=TAP_SECONDS)
        reason = "cancelled"
        self.session.dispatch(sheet)
        try:
            async with asyncio.timeout(TAP_SECONDS):
                approved = await tapped
            reason = "answered"
            return approved
        except TimeoutError:
            reason = "expired"
            return None
        finally:
            del self._taps[nonce]
            self.session.dispatch(CloseConfirm(nonce=nonce, reason=reason))

    def _finished(self) -> Any:
        turns = Turn.objects.filter(conversation_id=self.session.id)
        return turns.exclude(outcome=Turn.Outcome.RUNNING)
