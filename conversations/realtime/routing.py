"""WebSocket addresses."""

from django.urls import path

from conversations.realtime.consumers import RelayConsumer

websocket_urlpatterns = [path("v1/realtime", RelayConsumer.as_asgi())]
