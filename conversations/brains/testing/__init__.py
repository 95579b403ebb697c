"""What integrators test their brains with; as a pytest plugin it brings the fixture `voice_driver`.

Load it with `pytest_plugins = ["conversations.brains.testing"]`, beside pytest-django and pytest-asyncio.
PYTEST_DONT_REWRITE: a test module may import from here and load the plugin, too.
"""

from conversations.brains.testing.driver import VoiceDriver
from conversations.brains.testing.fixtures import (
    voice_application,
    voice_brain,
    voice_driver,
    voice_model,
    voice_over,
)
from conversations.brains.testing.model import Picks, Says, ScriptedModel
from conversations.brains.testing.reasoning import NotTaken
from conversations.brains.testing.stage import CallEnded
from conversations.brains.testing.turns import ToolRun, Turn

__all__ = [
    "CallEnded",
    "NotTaken",
    "Picks",
    "Says",
    "ScriptedModel",
    "ToolRun",
    "Turn",
    "VoiceDriver",
    "voice_application",
    "voice_brain",
    "voice_driver",
    "voice_model",
    "voice_over",
]
