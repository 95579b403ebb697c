"""What is set about the services around, where it is more than one value each."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ApiPilot:
    """The legacy bridge: its addresses, for how many seconds a list is kept, the service's credential."""

    tools_url: str = ""
    execute_url: str = ""
    ttl: int = 300
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """`brain` is the dotted path of what makes one; without it the model at `base_url`, else Gemini, thinks.

    With `as_llm` the brain also thinks for voice calls, for speech services that hold one of `service_keys`.
    With `marker` the model picks tools in its text, because its API has no function calling.
    """

    brain: str = ""
    as_llm: bool = False
    service_keys: tuple[str, ...] = field(default=(), repr=False)
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    model: str = ""
    gemini_key: str = field(default="", repr=False)
    marker: bool = False

    @property
    def possible(self) -> bool:
        """Whether anything here can reason."""
        return bool(self.brain or self.base_url or self.gemini_key)
