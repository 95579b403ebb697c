"""The two content security policies, as data."""

from csp.constants import NONE, SELF

PAGES = {
    "default-src": [NONE],
    "script-src": [SELF],
    "style-src": [SELF],
    "img-src": [SELF, "data:"],
    "font-src": [SELF],
    "connect-src": [SELF],
    "media-src": [SELF, "blob:"],
    "worker-src": [SELF],
    "manifest-src": [SELF],
    "base-uri": [NONE],
    "form-action": [SELF],
    "frame-ancestors": [NONE],
}

# The admin's theme evaluates expressions and sets styles inline; nowhere else is that allowed.
ADMIN = {**PAGES, "script-src": [SELF, "'unsafe-eval'"], "style-src": [SELF, "'unsafe-inline'"]}
