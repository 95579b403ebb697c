"""How much a client may ask for: a burst at once, then so many things a second."""

from __future__ import annotations


class Pace:
    """A bucket of `burst` drops that fills again with `rate` a second. Times are epoch seconds."""

    def __init__(self, burst: int, rate: float) -> None:
        self._burst, self._rate = burst, rate
        self._left = float(burst)
        self._looked_at = 0.0

    def allows(self, now: float) -> bool:
        """Takes one drop; False where there is none left."""
        passed = max(now - self._looked_at, 0.0)
        self._left = min(self._left + passed * self._rate, self._burst)
        self._looked_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
