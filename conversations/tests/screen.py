"""What a client has been shown: every event, in order, to be waited for."""

import asyncio
import json

WORDS = ("response.output_audio_transcript.delta", "response.output_text.delta")


class Screen:
    """`show` takes a frame; `shown` waits for the next event of a kind."""

    patience = 20.0

    def __init__(self):
        self.frames = []
        self._taken = 0
        self._changed = asyncio.Event()

    def show(self, frame):
        self.frames.append(json.loads(frame))
        self._changed.set()

    def over(self):
        """Nothing more will be shown."""
        self._changed.set()

    @property
    def ended(self):
        return False

    async def shown(self, kind):
        """The next event of this kind that was not waited for before; those in between are passed over."""
        async with asyncio.timeout(self.patience):
            while True:
                for number in range(self._taken, len(self.frames)):
                    if self.frames[number]["type"] == kind:
                        self._taken = number + 1
                        return self.frames[number]
                assert not self.ended, f"it ended without {kind}: {self.kinds()[-5:]}"
                self._changed.clear()
                await self._changed.wait()

    def shown_of(self, kind):
        return [frame for frame in self.frames if frame["type"] == kind]

    def kinds(self):
        return [frame["type"] for frame in self.frames]

    def text(self):
        """The assistant's words, of all answers so far."""
        return "".join(frame["delta"] for frame in self.frames if frame["type"] in WORDS)

    def everything(self):
        return json.dumps(self.frames)
