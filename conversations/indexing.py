"""Indexes that are built beside those who write."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import AddIndex


class AddIndexBeside(AddIndexConcurrently):
    """On PostgreSQL nobody who writes waits for it; elsewhere it is an index like any other.

    It may be repeated: what an attempt that was broken off left behind goes first.
    """

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        name = schema_editor.quote_name(str(self.index.name))
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            schema_editor.execute(f"DROP INDEX IF EXISTS {name}")
            AddIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        backwards = AddIndexConcurrently if schema_editor.connection.vendor == "postgresql" else AddIndex
        backwards.database_backwards(self, app_label, schema_editor, from_state, to_state)
