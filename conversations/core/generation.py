"""Which work is stale: what the caller does next raises a number, with which older work is compared."""

from __future__ import annotations


class Generation:
    """`number` is that of the newest work; a result is compared with it at three points, one method each."""

    def __init__(self) -> None:
        self.number = 0

    def rise(self) -> None:
        """Everything that was begun so far is stale."""
        self.number += 1

    def may_send(self, begun_in: int) -> bool:
        """Whether the output of a call of that generation may still go to the model."""
        return begun_in == self.number

    def may_ask(self, begun_in: int) -> bool:
        """Whether a response that was wished for in that generation may still be asked for."""
        return begun_in == self.number

    def may_tell(self, begun_in: int) -> bool:
        """Whether the browser may still be told what became of a call of that generation."""
        return begun_in == self.number
