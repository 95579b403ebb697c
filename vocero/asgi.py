"""HTTP to Django; WebSocket to the applications' routing; the sweep beside both."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "vocero.settings")
http = get_asgi_application()

# The models need the apps first.
from conversations.realtime.routing import websocket_urlpatterns  # noqa: E402
from conversations.sweeper import sweeping  # noqa: E402

application = sweeping(ProtocolTypeRouter({"http": http, "websocket": URLRouter(websocket_urlpatterns)}))
