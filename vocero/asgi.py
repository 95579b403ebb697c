"""HTTP to Django; WebSocket to the applications' routing."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "vocero.settings")
http = get_asgi_application()

from conversations.realtime.routing import websocket_urlpatterns  # noqa: E402  (models need the apps first)

application = ProtocolTypeRouter({"http": http, "websocket": URLRouter(websocket_urlpatterns)})
