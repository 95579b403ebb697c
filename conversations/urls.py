"""HTTP addresses of conversations."""

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, path, re_path
from django.views.decorators.csrf import csrf_exempt

from conversations import embed, probes, scraping, views
from conversations.api import problems, reference
from conversations.api.application import api


@csrf_exempt
def missing(request: HttpRequest) -> HttpResponse:
    """An address of the API that does not exist is told like a conversation that does not exist."""
    return problems.answer(request, problems.for_status(404))


urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.page, name="page"),
    path("embed/vocero-assistant.js", embed.module, name="embed-module"),
    path("embed/panel", embed.panel, name="embed-panel"),
    path("embed/frame", embed.frame, name="embed-frame"),
    path("livez", probes.livez, name="livez"),
    path("readyz", probes.readyz, name="readyz"),
    path("metrics", scraping.metrics, name="metrics"),
    path("api/docs", reference.page_of(api), name="reference"),
    path("", api.urls),
    re_path(r"^(?:api|v1)/", missing),
]
