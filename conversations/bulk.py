"""Many rows at once: COPY on PostgreSQL, batches elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, models

BATCH = 2_000


def insert(model: type[models.Model], rows: Sequence[Mapping[str, Any]]) -> None:
    """Stores these rows, each the values of its columns; what it leaves out gets the field's default."""
    if connection.vendor == "postgresql":
        _copy(model, rows)
    else:
        model._default_manager.bulk_create([model(**row) for row in rows], batch_size=BATCH)


def settle(tables: Sequence[type[models.Model]]) -> None:
    """Lets the database learn what is in these tables, as it does by itself in time."""
    verb = "VACUUM (ANALYZE)" if connection.vendor == "postgresql" else "ANALYZE"
    with connection.cursor() as cursor:
        for model in tables:
            cursor.execute(f"{verb} {connection.ops.quote_name(model._meta.db_table)}")


def _copy(model: type[models.Model], rows: Sequence[Mapping[str, Any]]) -> None:
    quote = connection.ops.quote_name
    fields = [each for each in model._meta.concrete_fields if not isinstance(each, models.AutoField)]
    names = [(each.attname, each.get_default) for each in fields]
    columns = ", ".join(quote(str(each.column)) for each in fields)
    statement = f"COPY {quote(model._meta.db_table)} ({columns}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(statement) as copying:
        for row in rows:
            copying.write_row([_plain(row[name] if name in row else default()) for name, default in names])


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (dict, list)) else value
