"""The browser's end of a call: what it is shown, in order and bounded, and what it missed while away."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

from conversations.metrics import METER
from conversations.realtime.begun import Rest, begin
from conversations.realtime.outbox import Outbox, never
from conversations.realtime.stall import Stall

# Half a minute of sound, for a browser that reads slower than the service speaks.
TO_BROWSER = 2_304 * 1024
SEND_LIMIT = 10.0
# Of Vocero's own events, so many are told to a browser that comes back.
MISSED = 64
DROPPED = METER.dropping("browser")


class Browser:
    """`show` never waits; `serve` sends to the socket that is there.

    `here` says whether there is one. `too_slow` is told when that does not read, `sound_lost` once when it
    reads too slowly for sound. `offer` sends a frame where that needs no waiting, and says so.
    """

    def __init__(
        self,
        send: Callable[[str], Awaitable[None]],
        too_slow: Callable[[], None],
        sound_lost: Callable[[], None],
        offer: Callable[[str], bool] = never,
    ) -> None:
        self._send, self._too_slow, self._sound_lost = send, too_slow, sound_lost
        self._at_once = offer
        self._complete = True
        self._serving: Stall | None = None
        self._outbox = Outbox(TO_BROWSER, self._offer, dropped=DROPPED)
        self._missed: deque[tuple[str, bool]] = deque(maxlen=MISSED)
        self.here = True

    def show(self, frame: str, lasting: bool = False, is_extra: bool = False) -> None:
        """Nobody sees it while the browser is away; one that is `lasting` is kept for its return.

        One that `is_extra` is only for clients that know Vocero's own events.
        """
        if not self.here:
            if lasting:
                self._missed.append((frame, is_extra))
        elif not self._outbox.put(frame):
            self._too_slow()

    def sound(self, frame: str) -> None:
        """A piece of sound, which a browser that reads too slowly does not get."""
        if not self.here or self._outbox.put(frame, is_audio=True) or not self._complete:
            return
        self._complete = False
        self._sound_lost()

    def hush(self) -> None:
        """Sound that is still on its way is not to be heard any more."""
        self._outbox.drop_audio()

    def leave(self) -> None:
        """The socket is gone, with everything that was on its way."""
        self.here, self._outbox = False, Outbox(TO_BROWSER, self._offer, dropped=DROPPED)

    def come(self) -> None:
        """There is a new socket; `serve` is to begin anew for it."""
        self.here = self._complete = True

    def catch_up(self, extras: bool) -> None:
        """What is kept is shown now, to a client that knows nothing of our own what it can know."""
        missed = list(self._missed)
        self._missed.clear()
        for frame, is_extra in missed:
            if extras or not is_extra:
                self.show(frame)

    async def serve(self) -> None:
        """Sends every frame in order, each within its time limit, until it is cancelled."""
        stall = Stall(SEND_LIMIT, self._too_slow)

        async def send(frame: str) -> None:
            stall.begins()
            await self._send(frame)
            stall.ends()

        async def go_on(rest: Rest) -> None:
            stall.begins()
            await rest
            stall.ends()

        self._serving = stall
        try:
            await self._outbox.drain(send, go_on)
        finally:
            # Another may serve a newer socket by now.
            if self._serving is stall:
                self._serving = None
            stall.close()

    def _offer(self, frame: str) -> bool | Rest:
        """Sends it now, as far as that goes without waiting."""
        if self._serving is None:
            return False
        return self._at_once(frame) or begin(self._send(frame)) or True

    async def emptied(self, seconds: float) -> None:
        """Waits until everything is sent, at most so long."""
        await self._outbox.emptied(seconds)
