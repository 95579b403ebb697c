"""People who use the HTTP interface: a browser with its cookies and CSRF token, an integrator's client."""

import json

from django.conf import settings
from django.test import Client

from conversations.identity import binding

CSRF = "c" * 32


class Browser:
    """Sends what the page sends; `forged=True` leaves the CSRF header out, as another site's page has to."""

    def __init__(self):
        self.client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        self.client.cookies[settings.CSRF_COOKIE_NAME] = CSRF

    def send(self, method, path, body=None, forged=False, **headers):
        if not forged:
            headers.setdefault("X-CSRFToken", CSRF)
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.generic(method, path, data, "application/json", headers=headers)

    def get(self, path, **headers):
        return self.send("GET", path, **headers)

    def post(self, path, body, **headers):
        return self.send("POST", path, body, **headers)

    def delete(self, path, **headers):
        return self.send("DELETE", path, **headers)

    def bootstrap(self, **body):
        return self.post("/api/conversations", body)

    def conversation(self, **body):
        """Bootstraps and returns the conversation's body."""
        response = self.bootstrap(**body)
        assert response.status_code in (200, 201), response.content
        return response.json()

    @property
    def cookie(self):
        kept = self.client.cookies.get(binding.COOKIE)
        return kept.value if kept else None


class Integrator:
    """Somebody's server or client: a bearer, no cookies, no CSRF token."""

    def __init__(self, bearer):
        self.client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        self.bearer = bearer

    def send(self, method, path, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.bearer}"}
        return self.client.generic(method, path, data, "application/json", headers=headers)
