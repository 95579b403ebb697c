"""What the speech service's tests share: one loaded engine, and services that run with it."""

import pytest

from demo.speech.session import Limits
from demo.speech.testing import full_engine, running
from demo.tests.speech_caller import ScriptedRecognizer, scripted_engine


@pytest.fixture(scope="session")
def models():
    """The engine with its models, loaded once; the tests that use it are marked `speech`."""
    engine = full_engine()
    assert engine.parts.mode == "full", engine.parts.why
    return engine


@pytest.fixture(scope="session")
def speech(models):
    """The service with its models."""
    with running(models) as service:
        yield service


@pytest.fixture
def recognizer():
    """What the scripted service hears."""
    return ScriptedRecognizer()


@pytest.fixture
def scripted(recognizer):
    """The service with scripted hearing and notes for a voice."""
    engine = scripted_engine(recognizer)
    with running(engine) as service:
        yield service
    engine.close()


@pytest.fixture
def unhurried(recognizer):
    """The same, but its sound runs hardly ahead of being heard: a long answer is never finished by itself."""
    engine = scripted_engine(recognizer)
    with running(engine, limits=Limits(lead_ms=200)) as service:
        yield service
    engine.close()
