"""The database as tests ask it; from an async test each question gives its connection back afterwards."""

from channels.db import database_sync_to_async
from django.db import connection

from conversations.identity import keys


@database_sync_to_async
def rows(model, **wanted):
    """All rows like this."""
    return list(model.objects.filter(**wanted))


@database_sync_to_async
def change(model, **values):
    """Gives every row these values."""
    model.objects.update(**values)


@database_sync_to_async
def api_key():
    """A fresh API key of an integrator."""
    return keys.make("shop").text


def whole_database():
    """Every value of every row, as one text."""
    with connection.cursor() as cursor:
        texts = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            texts += [repr(row) for row in cursor.fetchall()]
    return "\n".join(texts)
