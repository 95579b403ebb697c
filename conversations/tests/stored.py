"""The database from inside an async test: each question gives its connection back afterwards."""

from channels.db import database_sync_to_async

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
