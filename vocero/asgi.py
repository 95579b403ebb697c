"""HTTP to Django; WebSocket to the applications' routing; the sweep beside both."""

import gc
import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "vocero.settings")
django = get_asgi_application()

# The models need the apps first.
from conversations.api.bodies import bounded  # noqa: E402
from conversations.brains.checks import refuse_to_start  # noqa: E402
from conversations.realtime.lifespan import lifespan, stop  # noqa: E402
from conversations.realtime.routing import websocket_urlpatterns  # noqa: E402
from conversations.sweeper import sweeping  # noqa: E402
from conversations.tracing import TRACES  # noqa: E402
from vocero import telemetry  # noqa: E402
from vocero.daphne_sockets import mended  # noqa: E402
from vocero.doors import noticing  # noqa: E402
from vocero.uvicorn_sockets import shortened  # noqa: E402

refuse_to_start()
TRACES.begin(telemetry.tracer(settings.VOCERO.otlp_endpoint))
# Django refuses a large body itself, and in better words; this only keeps an endless one off the disk.
http = bounded(django, limit=4 * settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
websocket = URLRouter(websocket_urlpatterns)
routes = ProtocolTypeRouter({"http": http, "websocket": websocket, "lifespan": lifespan})
application = sweeping(shortened(mended(noticing(routes), stop)))
# What start-up made stays. To look through it anew each time that many calls have begun would silence all the
# others for a tenth of a second.
gc.collect()
gc.freeze()
