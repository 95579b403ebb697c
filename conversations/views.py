"""The page on which a caller talks, and what it is told at its start."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.utils import translation
from django.utils.translation import gettext, gettext_noop
from django.utils.translation.trans_real import DjangoTranslation
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers
from django.views.i18n import JSONCatalog

from conversations import record
from conversations.identity import phones

_LONGEST_LINK = 300
_DEMO_CALLERS = (
    {"phone": "+34600000001", "label": gettext_noop("Administrator")},
    {"phone": "+34600000002", "label": gettext_noop("Report manager of the north center")},
    {"phone": "+34600000003", "label": gettext_noop("Caller without assigned centers")},
    {"phone": "+34600000008", "label": gettext_noop("Caller whose token expires in mid-call")},
    {"phone": "+34600000009", "label": gettext_noop("Unknown at the backend")},
)
_DEMO_BADGES = (gettext_noop("Local speech"), gettext_noop("Demo without speech models: type"))


@require_safe
@ensure_csrf_cookie
@cache_control(no_store=True)
@vary_on_headers("Accept-Language")
def page(request: HttpRequest) -> HttpResponse:
    """The voice client; it takes `link` and `phone` out of its address as soon as it has read them here."""
    with translation.override(translation.get_language_from_request(request)):
        answer = render(request, "conversations/page.html", {"boot": boot(request)})
        answer["Content-Language"] = translation.get_language()
    return framed(answer)


def framed(answer: HttpResponse) -> HttpResponse:
    """The answer, which other sites may frame where that is set: the policy's frame-ancestors name them."""
    if settings.VOCERO.embed_origins:
        answer.xframe_options_exempt = True
    return answer


def boot(request: HttpRequest) -> dict[str, Any]:
    """What the page's script starts with; nothing in it is secret from whoever typed the address."""
    vocero = settings.VOCERO
    return {
        "link": request.GET.get("link", "")[:_LONGEST_LINK] or None,
        "phone": _phone(request) if vocero.unsafe_phone_selector else None,
        "unsafe_phone_selector": vocero.unsafe_phone_selector,
        "demo_callers": _demo_callers() if vocero.demo else [],
        "demo_badge": _demo_badge(vocero.demo_badge) if vocero.demo else "",
        "worklets": {
            "capture": static("conversations/audio/capture-worklet.js"),
            "playback": static("conversations/audio/playback-worklet.js"),
        },
        "mode": vocero.mode,
        "realtime_path": record.REALTIME_PATH,
        "web_search": vocero.web_search,
        "reasoning": vocero.reasoning.possible,
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
        "language": translation.get_language(),
        "catalog": catalog(),
    }


def catalog() -> dict[str, str | list[str]]:
    """The page's sentences, and the labels of tools, in the current language by their English ones."""
    language = translation.get_language() or settings.LANGUAGE_CODE
    labels = settings.VOCERO.tool_labels
    english = labels.get("en", {}) if language != "en" else {}
    tools = {english[name]: label for name, label in labels.get(language, {}).items() if name in english}
    return {**_sentences(language), **tools}


def _sentences(language: str) -> dict[str, str | list[str]]:
    view = JSONCatalog()
    view.translation = DjangoTranslation(
        language,
        domain="djangojs",
        localedirs=view.get_paths(["conversations"]),
    )
    return dict(view.get_catalog())


def _demo_callers() -> list[dict[str, str]]:
    return [{**caller, "label": gettext(caller["label"])} for caller in _DEMO_CALLERS]


def _demo_badge(badge: str) -> str:
    return gettext(badge) if badge in _DEMO_BADGES else badge


def _phone(request: HttpRequest) -> str | None:
    try:
        return phones.normalised(request.GET.get("phone", ""))
    except ValueError:
        return None
