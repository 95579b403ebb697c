"""The driver as pytest gives it: `voice_driver`, and fixtures that a test overrides to shape it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from channels.routing import get_default_application

from conversations.brains.brain import Brain
from conversations.brains.testing.driver import Makes, Over, VoiceDriver
from conversations.brains.testing.model import ScriptedModel


@pytest.fixture(scope="session", autouse=True)
def voice_application() -> None:
    """Loaded before any test's log is read: that sets logging up anew."""
    get_default_application()


@pytest.fixture
def voice_brain() -> Brain | Makes | None:
    """The brain under test, or what makes it; override it. None is the brain of the setting S2S_BRAIN."""
    return None


@pytest.fixture
def voice_model() -> ScriptedModel | None:
    """What answers in the place of the brain's model; override it with a ScriptedModel."""
    return None


@pytest.fixture
def voice_over() -> Over:
    """How the caller comes: `voice` or `http`; override it, or parametrize it to test both."""
    return "voice"


@pytest_asyncio.fixture
async def voice_driver(
    transactional_db: None,
    voice_brain: Brain | Makes | None,
    voice_model: ScriptedModel | None,
    voice_over: Over,
) -> AsyncIterator[VoiceDriver]:
    """A caller in a conversation of their own with `voice_brain`."""
    async with VoiceDriver(voice_brain, model=voice_model, over=voice_over) as driver:
        yield driver
