"""A brain's tools for tests: a screen action, an entry with choices, a tap that is waited for, a bug."""

import asyncio
import secrets
from enum import Enum
from typing import Literal

from pydantic import BaseModel

from conversations.brains import Action, RTVIType

SECRET_WORDS = "the-password-is-in-this-exception"


class ShowPlate(Action):
    dish: str


class AskToClear(Action):
    nonce: str


class Time(Enum):
    MORNING = "morning"
    EVENING = "evening"


class Portion(BaseModel):
    size: Literal["small", "large"]
    eaten: Time


class Meal(BaseModel):
    dish: str
    portion: Portion


class Diary:
    """Mixed into an adapter's class. `tap_seconds` is how long it waits on the screen."""

    finish_tools = ("weigh",)
    tap_seconds = 20.0

    def __init__(self, **options):
        super().__init__(**options)
        self.meals = []
        self.ran_in = []
        self.weighing, self.weighed = asyncio.Event(), asyncio.Event()
        self._taps = {}

    @property
    def tools(self):
        return [self.show, self.log_meal, self.meals_today, self.clear_diary, self.weigh, self.burn]

    def __deepcopy__(self, memo):
        raise AssertionError("a brain is never copied")

    __copy__ = __deepcopy__

    async def show(self, meal: Meal) -> str:
        """Shows a dish on the screen."""
        self._ran()
        self.session.dispatch(ShowPlate(dish=meal.dish))
        return "shown"

    async def log_meal(self, meal: Meal) -> dict:
        """Writes a meal down."""
        self._ran()
        self.meals.append(meal)
        return {"logged": meal.dish, "size": meal.portion.size}

    async def meals_today(self) -> list:
        """What was eaten today."""
        self._ran()
        return [meal.dish for meal in self.meals]

    async def clear_diary(self) -> str:
        """Clears the diary after a yes on the screen."""
        self._ran()
        nonce = secrets.token_hex(4)
        tap = self._taps[nonce] = asyncio.get_running_loop().create_future()
        self.session.dispatch(AskToClear(nonce=nonce))
        try:
            async with asyncio.timeout(self.tap_seconds):
                agreed = await tap
        except TimeoutError:
            return "nobody answered"
        finally:
            del self._taps[nonce]
        if not agreed:
            return "declined"
        self.meals.clear()
        return "cleared"

    async def weigh(self) -> str:
        """Weighs the plate, which takes its time."""
        self.weighing.set()
        await self.weighed.wait()
        return "320 grams"

    async def burn(self) -> str:
        """Breaks."""
        raise RuntimeError(SECRET_WORDS)

    async def on_rtvi(self, session, msg):
        if msg.type is RTVIType.CLIENT_MESSAGE and msg.data["t"] == "clear_answer":
            tap = self._taps.get(msg.data["d"]["nonce"])
            if tap is not None and not tap.done():
                tap.set_result(msg.data["d"]["answer"] == "yes")

    def _ran(self):
        self.ran_in.append((id(self), id(self.session)))
