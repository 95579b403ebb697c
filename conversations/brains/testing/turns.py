"""One turn as the driver saw it: what the caller said, what they heard, how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A tool that ran or was refused: `code` is empty, or why it brought nothing, such as `timeout`."""

    name: str
    code: str = ""


@dataclass(slots=True)
class Turn:
    """What the caller said in `said` and everything it caused; it fills while the turn is in flight.

    `text` is all that was said to the caller, an apology too; `heard` is what of it was heard.
    `outcome` is empty while it runs, then `done`, `interrupted`, `cancelled` or `failed`; `code` says why.
    """

    said: str
    text: str = ""
    heard: str = ""
    outcome: str = ""
    code: str = ""
    index: int = 0
    tools: list[ToolRun] = field(default_factory=list)

    @property
    def completed(self) -> bool:
        """Whether the brain answered to its end; False where it failed, even though an apology was spoken."""
        return self.outcome == "done" and not self.code

    @property
    def interrupted(self) -> bool:
        """Whether the caller went on before its end."""
        return self.outcome in ("interrupted", "cancelled")

    @property
    def codes(self) -> Sequence[str]:
        """The failure codes of its tools, in order."""
        return [tool.code for tool in self.tools if tool.code]
