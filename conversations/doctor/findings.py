"""What the doctor found, as values: a name, how it stands, a sentence, and the mend where it needs one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

OK, WARNING, FAILED, SKIPPED = "ok", "warning", "failed", "skipped"
_SIGNS = {OK: "ok  ", WARNING: "warn", FAILED: "FAIL", SKIPPED: "-   "}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; `ms` is how long it took, None where nobody was asked."""

    name: str
    status: str
    said: str
    mend: str = ""
    ms: int | None = None

    def line(self) -> str:
        """As a person reads it."""
        took = f" ({self.ms} ms)" if self.ms is not None else ""
        mend = f"\n       {self.mend}" if self.mend else ""
        return f"{_SIGNS[self.status]}  {self.name}: {self.said}{took}{mend}"


def is_well(findings: Sequence[Finding]) -> bool:
    """Whether nothing failed."""
    return all(finding.status != FAILED for finding in findings)


def as_dict(findings: Sequence[Finding]) -> list[dict[str, object]]:
    """For a program."""
    return [asdict(finding) for finding in findings]
