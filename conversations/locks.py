"""Transactions that give a lock up instead of waiting for ever, so that one table never stops the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

WAIT = "5s"


@contextmanager
def briefly() -> Iterator[None]:
    """A transaction that raises OperationalError where somebody holds a lock for longer than WAIT.

    SQLite has its own limit, the `timeout` of the settings.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [WAIT])
        yield
