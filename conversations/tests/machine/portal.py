"""A tool source whose every call waits until the test says what becomes of it."""

import asyncio
from dataclasses import dataclass, field

from conversations.tests.core_play import marker
from conversations.tests.machine.replies import PLANTED, SERVER_TOOLS
from conversations.tests.machine.story import Ran, Stopped
from tools.contract import Progress, ToolFailure, ToolResult
from tools.testing import a_tool

ANYTHING = {"type": "object", "properties": {"request": {"type": "object"}}}
RESULT = "RESULT-ONLY"
# What a source does when its call is cancelled: ends, cannot tell its server, needs time, or goes on.
STUBBORN = ("lingers", "goes on")
MOODS = ("ends", "ends", "ends", "untold", "lingers", "goes on")


@dataclass(eq=False)
class Run:
    """One call at the source. `cancelled_at` is when it was told to stop; `answer` is what it waits for."""

    owner: str
    number: int
    call_id: str
    name: str
    caller: object
    context: object
    mood: str
    began_at: float
    answer: asyncio.Future
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled_at: float | None = None
    over: bool = False

    @property
    def trace(self):
        """What only the result of this call holds."""
        return f"{RESULT}-{self.owner}-{self.number}."


class HeldPortal:
    """The tools of one conversation's caller. `mood` is what the next call will do when it is cancelled.

    `call_of` finds out for which row a task works.
    """

    name = "mcp"

    def __init__(self, story, call_of):
        self._story, self._call_of = story, call_of
        self.runs = []
        self.mood = "ends"
        self.failure = None

    @property
    def waiting(self):
        """The calls that nobody has answered."""
        return [run for run in self.runs if not run.over and not run.answer.done()]

    @property
    def lingering(self):
        """The calls that were told to stop and have not."""
        return [run for run in self.runs if run.cancelled_at is not None and not run.over]

    async def tools(self, _caller):
        if self.failure:
            raise ToolFailure(self.failure, "No.")
        return [a_tool(name, ANYTHING) for name in SERVER_TOOLS]

    async def call(self, name, _arguments, context):
        loop = asyncio.get_running_loop()
        run = Run(
            owner=self._story.conversation_id,
            number=len(self.runs) + 1,
            call_id=self._call_of(asyncio.current_task()),
            name=name,
            caller=context.caller,
            context=context,
            mood=self.mood,
            began_at=loop.time(),
            answer=loop.create_future(),
        )
        # It may fail when nobody waits for it any more.
        run.answer.add_done_callback(lambda answer: answer.cancelled() or answer.exception())
        self.runs.append(run)
        self._story.tell(Ran(run))
        try:
            return await self._work(run)
        finally:
            run.over = True
            self._story.tell(Stopped(run))

    async def _work(self, run):
        try:
            return await asyncio.shield(run.answer)
        except asyncio.CancelledError:
            run.cancelled_at = asyncio.get_running_loop().time()
            if run.mood == "goes on":
                return await run.answer
            if run.mood == "lingers":
                await run.let_go.wait()
            if run.mood == "untold":
                run.context.on_untold()
            raise

    async def aclose(self):
        for run in self.runs:
            run.answer.cancel()


OUTCOMES = (
    "found",
    "found",
    "found",
    "large",
    "instructs",
    "empty",
    "error",
    "timeout",
    "unavailable",
    "forbidden",
    "unauthorized",
    "bug",
)


def answer(run, outcome):
    """The call ends like this."""
    data = {"found": f"{run.trace} The oxygen is eight."}
    match outcome:
        case "found":
            run.answer.set_result(ToolResult(data, titles=("Cage four",)))
        case "large":
            run.answer.set_result(ToolResult({**data, "rows": ["x" * 90] * 90}))
        case "instructs":
            run.answer.set_result(ToolResult({**data, "note": marker(PLANTED, "{}")}))
        case "empty":
            run.answer.set_result(ToolResult({"items": []}))
        case "error":
            run.answer.set_result(ToolResult(f"{run.trace} {marker(PLANTED, '{}')}", is_error=True))
        case "bug":
            run.answer.set_exception(RuntimeError(run.trace))
        case _:
            run.answer.set_exception(ToolFailure(outcome, "No."))


def progress(run, count):
    """The call is so far."""
    run.context.on_progress(Progress(count, 100, "Reading"))
