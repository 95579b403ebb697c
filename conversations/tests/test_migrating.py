"""Indexes are built while others write, and a migration that was broken off goes on."""

from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.utils import timezone

from conversations.models import ToolCall
from conversations.tests import operators as make
from conversations.tests.another_connection import another

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database_server]

BEFORE_INDEXES = "0009"
WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'CREATE INDEX%'
"""
INVALID = "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE NOT i.indisvalid"


@pytest.fixture(autouse=True)
def _as_it_was(transactional_db):
    yield
    migrate()


def migrate(to=None):
    call_command("migrate", "conversations", *filter(None, [to]), verbosity=0, interactive=False)


@contextmanager
def migrating(to):
    """Migrates beside; whatever it raised is raised here."""
    with ThreadPoolExecutor(1) as pool:
        migration = pool.submit(run, to)
        yield migration
        migration.result(60)


def run(to):
    try:
        migrate(to)
    finally:
        connections.close_all()


def until_it_waits(migration):
    """Returns once an index waits for a transaction of somebody else."""
    while not migration.done():
        with connection.cursor() as cursor:
            cursor.execute(WAITING)
            if cursor.fetchone()[0]:
                return
        wait([migration], 0.05)
    raise AssertionError("it did not wait for the one who writes")


@pytest.mark.parametrize(("before", "to"), [("0009", "0010"), ("0011", "0012")])
def test_while_an_index_waits_for_one_who_writes_others_write_on(before, to):
    call = make.call(make.turn(make.conversation()), started_at=timezone.now())
    migrate(before)
    with another() as slow:
        for table in ("toolcall", "turn", "conversation"):
            slow.execute(f"LOCK TABLE conversations_{table} IN ROW EXCLUSIVE MODE")
        with migrating(to) as migration:
            until_it_waits(migration)
            with another() as quick:
                quick.execute("SET LOCAL lock_timeout = '2s'")
                for table in ("toolcall", "turn", "conversation"):
                    quick.execute(f"UPDATE conversations_{table} SET id = id")
                assert quick.rowcount == 1
            slow.connection.rollback()
    migrate()
    assert ToolCall.objects.get() == call


def test_what_was_broken_off_is_done_anew():
    migrate(BEFORE_INDEXES)
    with connection.cursor() as cursor:
        # As CREATE INDEX CONCURRENTLY leaves it when its connection is lost.
        cursor.execute("CREATE INDEX toolcall_name ON conversations_toolcall (name)")
        cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'toolcall_name'::regclass")
    migrate()
    with connection.cursor() as cursor:
        cursor.execute(INVALID)
        assert cursor.fetchall() == []
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'toolcall_name'")
        assert "started_at DESC" in cursor.fetchone()[0]
