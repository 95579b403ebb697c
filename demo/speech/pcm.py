"""PCM16 mono arithmetic that needs nothing but the standard library."""

import array
import math
import sys

FRAME_MS = 32
RATES = (16000, 24000)


def byte_count(milliseconds: int, rate: int) -> int:
    """How many bytes that much sound takes; whole for every rate of `RATES`."""
    return milliseconds * rate // 1000 * 2


def duration_ms(size: int, rate: int) -> int:
    """How long that many bytes of sound are, in whole milliseconds."""
    return size // 2 * 1000 // rate


def loudness(pcm: bytes) -> float:
    """The root mean square of a piece of sound, from 0 to 1."""
    samples = _samples(pcm)
    return math.sqrt(sum(sample * sample for sample in samples) / len(samples)) / 32768 if samples else 0.0


def stretched(pcm: bytes, rate: int, to_rate: int) -> bytes:
    """The same sound at another rate, by straight lines between samples: good enough for a plain voice."""
    if rate == to_rate:
        return pcm
    samples = _samples(pcm)
    count = len(samples) * to_rate // rate
    last = len(samples) - 1
    out = array.array("h", bytes(count * 2))
    for index in range(count):
        place, rest = divmod(index * rate, to_rate)
        here = samples[place]
        there = samples[min(place + 1, last)]
        out[index] = here + (there - here) * rest // to_rate
    return _bytes(out)


def tone(hertz: float, milliseconds: int, rate: int) -> bytes:
    """One soft note that swells and fades."""
    count = milliseconds * rate // 1000
    notes = (
        6000 * math.sin(2 * math.pi * hertz * index / rate) * math.sin(math.pi * index / count) ** 2
        for index in range(count)
    )
    return _bytes(array.array("h", map(int, notes)))


def silence(milliseconds: int, rate: int) -> bytes:
    """So much silence."""
    return bytes(byte_count(milliseconds, rate))


def _samples(pcm: bytes) -> "array.array[int]":
    samples = array.array("h", pcm)
    if sys.byteorder == "big":
        samples.byteswap()
    return samples


def _bytes(samples: "array.array[int]") -> bytes:
    if sys.byteorder == "big":
        samples.byteswap()
    return samples.tobytes()
