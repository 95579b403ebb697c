"""What a brain asks of the screen: typed actions, told to the page as RTVI `ui-command`."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Action(BaseModel):
    """One thing that the page is to do; a subclass names it and declares its fields.

    A field may have an alias, which is then its name on the wire; a field that is not declared is refused.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    @classmethod
    def command(cls) -> str:
        """The command on the wire: `OpenReport` is `open_report`."""
        return _WORD.sub("_", cls.__name__).lower()

    def payload(self) -> dict[str, Any]:
        """The fields as JSON, by their aliases."""
        return self.model_dump(mode="json", by_alias=True)
