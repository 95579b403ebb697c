"""The queues of a call, made so small that a flood is soon told from a stream."""

from conversations.core import gate
from conversations.realtime import browser, upstream, waiting

SMALL = (
    (browser, "TO_BROWSER", 200_000),
    (upstream, "TO_SERVICE", 150_000),
    (waiting, "AUDIO_LIMIT", 50_000),
    (waiting, "LIMIT", 100_000),
    (gate, "HELD_BYTES", 50_000),
)
# What they may hold together, and all else that a call knows.
CHARACTERS = sum(size for _, _, size in SMALL) + 150_000
ENTRIES = 5_000


def make_small(monkeypatch):
    for module, name, size in SMALL:
        assert getattr(module, name) > size
        monkeypatch.setattr(module, name, size)
