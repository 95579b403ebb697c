"""What other sites embed: the element's module, what it shows, and the page for a frame."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils import translation
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from conversations import views

STYLES = ("tokens", "page", "stage", "lines", "talk", "sheet", "settings", "actions", "embed")
_OPEN = gettext_noop("Talk to the assistant")
# Who calls is said by the site around, never by the address.
_NOBODY: dict[str, Any] = {
    "link": None,
    "phone": None,
    "unsafe_phone_selector": False,
    "demo_callers": [],
    "demo_badge": "",
}


@require_safe
@cache_control(public=True, max_age=300)
def module(request: HttpRequest) -> HttpResponse:
    """`<vocero-assistant>` under an address that stays, whatever the files' hashes are."""
    _only_where_embedding_is_set()
    source = f'export * from "{static("conversations/embed/element.js")}";\n'
    return HttpResponse(source, content_type="text/javascript; charset=utf-8")


@require_safe
@cache_control(no_cache=True)
@vary_on_headers("Accept-Language")
def panel(request: HttpRequest) -> HttpResponse:
    """The client's elements, styles and settings as JSON, for the element's shadow."""
    _only_where_embedding_is_set()
    with translation.override(_language(request)):
        boot = views.boot(request) | _NOBODY
        return JsonResponse(
            {
                "language": translation.get_language(),
                "direction": "rtl" if translation.get_language_bidi() else "ltr",
                "html": render_to_string("conversations/client.html", {"boot": boot}, request),
                "styles": [static(f"conversations/css/{name}.css") for name in STYLES],
                "words": {"open": gettext(_OPEN)},
                "boot": boot,
            }
        )


@require_safe
@cache_control(no_store=True)
@vary_on_headers("Accept-Language")
def frame(request: HttpRequest) -> HttpResponse:
    """The client for an `<iframe>`: the page around it says who is calling, by a message."""
    _only_where_embedding_is_set()
    with translation.override(_language(request)):
        boot = views.boot(request) | _NOBODY | {"embed_origins": list(settings.VOCERO.embed_origins)}
        answer = render(request, "conversations/frame.html", {"boot": boot})
    return views.framed(answer)


def _language(request: HttpRequest) -> str:
    """The one that is asked for by `language`, else the browser's."""
    try:
        return translation.get_supported_language_variant(request.GET.get("language", ""))
    except LookupError:
        return translation.get_language_from_request(request)


def _only_where_embedding_is_set() -> None:
    if not settings.VOCERO.embed_origins:
        raise Http404("S2S_EMBED_ORIGINS is empty")
