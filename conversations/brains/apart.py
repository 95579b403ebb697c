"""Tasks that outlive the request which began them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

T = TypeVar("T")


def begin(work: Coroutine[Any, Any, T], conversation_id: str) -> asyncio.Task[T]:
    """A task with nothing of the request in it: neither its thread for the database nor its log lines."""
    context = contextvars.Context()
    context.run(structlog.contextvars.bind_contextvars, conversation=conversation_id)
    return asyncio.get_running_loop().create_task(work, context=context)
