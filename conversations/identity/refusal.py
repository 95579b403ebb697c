"""Why somebody is not let in: one exception with a stable code."""

from __future__ import annotations


class Refused(Exception):
    """Somebody is not let in; `code` is the contract's, `detail` a sentence for people, without secrets.

    `retry_after` is in whole seconds, where waiting helps.
    """

    def __init__(self, code: str, detail: str, retry_after: int | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.retry_after = retry_after
