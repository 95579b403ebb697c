"""The parts that need no package: loudness for an ear, espeak-ng or two notes for a voice."""

import shutil
import subprocess
from collections.abc import Sequence

from demo.speech import pcm
from demo.speech.engine import EngineFailure, Parts
from demo.speech.sentences import sentences

_ESPEAK = "espeak-ng"
_ESPEAK_SECONDS = 20
_WORDS_A_MINUTE = 165
_WAV_HEADER = 44
_NOTES = (660, 880)


class LoudnessEar:
    """Hears whatever is clearly louder than the room has been."""

    def __init__(self) -> None:
        self._floor = 1e-3

    def reset(self) -> None:
        """Forget the room."""
        self._floor = 1e-3

    def probability(self, frame: bytes) -> float:
        """1 for a frame well above the floor, else 0; the floor follows the room, slowly up, quickly down."""
        level = pcm.loudness(frame) + 1e-7
        self._floor = (
            min(level, self._floor * 1.02) if level > self._floor else 0.8 * self._floor + 0.2 * level
        )
        return 1.0 if level > max(4 * self._floor, 0.006) else 0.0


class EspeakVoice:
    """The espeak-ng program as the voice, one short process a sentence."""

    def __init__(self, program: str) -> None:
        self._program = program

    def units(self, text: str) -> Sequence[str]:
        """Sentences."""
        return sentences(text)

    def speak(self, unit: str, speed: float, rate: int) -> bytes:
        """The sentence as espeak-ng says it; raises EngineFailure when the program fails."""
        command = [
            self._program,
            "-v",
            "en-us",
            "-s",
            str(int(_WORDS_A_MINUTE * speed)),
            "--stdin",
            "--stdout",
        ]
        try:
            run = subprocess.run(
                command, input=unit.encode(), capture_output=True, check=True, timeout=_ESPEAK_SECONDS
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise EngineFailure(f"{_ESPEAK} failed: {error}") from error
        wav_rate = int.from_bytes(run.stdout[24:28], "little")
        if not wav_rate:
            raise EngineFailure(f"{_ESPEAK} wrote no sound")
        sound = run.stdout[_WAV_HEADER:]
        return pcm.stretched(sound[: len(sound) // 2 * 2], wav_rate, rate)


class EarconVoice:
    """Two notes for an answer, whose words go out as transcript alone."""

    def units(self, text: str) -> Sequence[str]:
        """The whole text: one sign for one answer."""
        return (text,)

    def speak(self, unit: str, speed: float, rate: int) -> bytes:
        """The two notes."""
        return b"".join(pcm.tone(hertz, int(160 / speed), rate) for hertz in _NOTES)


def light_parts(why: str) -> Parts:
    """The light parts, with the reason why these are in use."""
    program = shutil.which(_ESPEAK)
    return Parts(
        mode="light",
        make_ear=lambda rate: LoudnessEar(),
        recognizer=None,
        voice=EspeakVoice(program) if program else EarconVoice(),
        hearing="loudness only, no speech recognition",
        voice_name=_ESPEAK if program else "two notes, no voice",
        why=why,
    )
