"""Somebody else at the same database."""

from contextlib import contextmanager

from django.db import connection


@contextmanager
def another():
    """A second connection, in a transaction of its own."""
    other = connection.copy()
    other.settings_dict = {**connection.settings_dict, "OPTIONS": {}}
    other.set_autocommit(False)
    try:
        with other.cursor() as cursor:
            yield cursor
    finally:
        other.rollback()
        other.close()
