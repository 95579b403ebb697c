"""Who is asking: a browser by its binding cookie, a client by its secret, an integrator by its API key."""

from __future__ import annotations

from django.http import HttpRequest
from ninja.security import APIKeyCookie
from ninja.security.http import HttpAuthBase
from ninja.utils import check_csrf

from conversations.api.problems import Problem
from conversations.identity import admission, binding, keys
from conversations.identity.admission import Visitor
from conversations.models import ApiKey

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class ClientSecret(HttpAuthBase):
    """`Authorization: Bearer ek_…`. A bearer that is no good ends here: the cookie is not looked at then."""

    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> Visitor | None:
        secret = bearer(request)
        if secret is None:
            return None
        visitor = admission.visitor_by_secret(secret)
        if visitor is None:
            raise Problem("unauthorized")
        return visitor


class Browser(APIKeyCookie):
    """The binding cookie, and the CSRF token where the request changes something."""

    param_name = binding.COOKIE

    def __init__(self) -> None:
        # Ninja would check the token before it looks for the cookie, and call a stranger's request forged.
        super().__init__(csrf=False)

    def authenticate(self, request: HttpRequest, key: str | None) -> Visitor | None:
        if not key:
            return None
        own_page_only(request)
        return admission.visitor_by_cookie(key)


class Integrator(HttpAuthBase):
    """`Authorization: Bearer vk_…`, an API key."""

    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> ApiKey | None:
        key = bearer(request)
        return keys.holder(key) if key else None


def own_page_only(request: HttpRequest) -> bool:
    """Lets a request pass that its CSRF token proves to come from our page; safe methods always pass."""
    if request.content_type in _FORMS:
        # Django would search a form for the token, and a broken one breaks it; our page sends none.
        raise Problem("unsupported_media_type" if "X-CSRFToken" in request.headers else "csrf_failed")
    if check_csrf(request):
        raise Problem("csrf_failed")
    return True


def bearer(request: HttpRequest) -> str | None:
    """What follows `Bearer ` in the Authorization header, None where it is another scheme or absent."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None
