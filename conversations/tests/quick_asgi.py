"""The application with sweeps and heartbeats that come at once, for servers in processes of their own."""

from vocero.asgi import application  # isort: skip  (the models need the apps first)
from conversations import sweeper
from conversations.brains import over_http
from conversations.realtime import relay

__all__ = ["application"]

sweeper.INTERVAL = 0.3
relay.HEARTBEAT = 0.5
over_http.HEARTBEAT = 0.5
