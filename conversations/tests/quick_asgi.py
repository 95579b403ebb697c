"""The application with sweeps and heartbeats that come at once and patient ends, for servers of their own."""

from vocero.asgi import application  # isort: skip  (the models need the apps first)
from conversations import journal, sweeper
from conversations.brains import over_http
from conversations.realtime import calls, relay

__all__ = ["application"]

sweeper.INTERVAL = 0.3
relay.HEARTBEAT = 0.5
over_http.HEARTBEAT = 0.5
# A test that looks at a process while it ends decides itself how long that takes.
journal.FLUSH_LIMIT = calls.STOP_LIMIT = 60.0
