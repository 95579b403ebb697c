"""HTTP to Django; WebSocket to the applications' routing; the sweep beside both."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "vocero.settings")
django = get_asgi_application()

# The models need the apps first.
from conversations.api.bodies import bounded  # noqa: E402
from conversations.realtime.calls import stop  # noqa: E402
from conversations.realtime.lifespan import lifespan  # noqa: E402
from conversations.realtime.routing import websocket_urlpatterns  # noqa: E402
from conversations.sweeper import sweeping  # noqa: E402
from vocero.daphne_sockets import mended  # noqa: E402

# Django refuses a large body itself, and in better words; this only keeps an endless one off the disk.
http = bounded(django, limit=4 * settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
websocket = mended(URLRouter(websocket_urlpatterns), stop)
routes = ProtocolTypeRouter({"http": http, "websocket": websocket, "lifespan": lifespan})
application = sweeping(routes)
