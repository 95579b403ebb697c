"""Django's settings, composed from the typed values of `vocero.env`."""

from __future__ import annotations

from pathlib import Path

from django.templatetags.static import static

from vocero import env, policy, reading
from vocero.logs import logging_config

BASE_DIR = Path(__file__).resolve().parent.parent
_environment = env.environment(BASE_DIR)
_django = env.read_django(_environment)
VOCERO = env.read_vocero(_environment)

SECRET_KEY = _django.secret_key
DEBUG = _django.debug
ALLOWED_HOSTS = list(_django.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(_django.csrf_trusted_origins)
LOG_LEVEL = _django.log_level
REDIS_URL = _django.redis_url

INSTALLED_APPS = [
    "daphne",
    "whitenoise.runserver_nostatic",
    "unfold",
    "unfold.contrib.import_export",
    "import_export",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "corsheaders",
    "ninja",
    "vocero",
    "tools",
    "conversations",
]

MIDDLEWARE = [
    "conversations.api.envelope.Envelope",
    "django.middleware.security.SecurityMiddleware",
    "corsheaders.middleware.CorsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "vocero.security.ContentSecurityPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "vocero.urls"
CSRF_FAILURE_VIEW = "conversations.plain_pages.unrecognised"
ASGI_APPLICATION = "vocero.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": _django.database}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    _file = Path(DATABASES["default"]["NAME"])
    if str(_file) != ":memory:":
        _file = _file if _file.is_absolute() else BASE_DIR / _file
        try:
            _file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise reading.refusal("DATABASE_URL", f"its folder cannot be made ({error.strerror})") from error
        DATABASES["default"]["NAME"] = str(_file)
    # Without IMMEDIATE most concurrent read-then-write transactions fail with "database is locked".
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
    }
    DATABASES["default"]["CONN_MAX_AGE"] = None
elif DATABASES["default"]["ENGINE"].endswith("postgresql"):
    # A database that is away is told within seconds, and found again as soon as it is back.
    _pool = {"min_size": 1, "max_size": 8, "timeout": 3, "reconnect_timeout": 3}
    DATABASES["default"].setdefault("OPTIONS", {}).update({"pool": _pool, "connect_timeout": 3})
    # Without it a restart of the database is one failed request for each connection that was open.
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

if REDIS_URL:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}}
    # The pubsub layer: the core layer closes idle sockets and loses every call when Redis restarts.
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL]},
        }
    }
else:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("es", "Español")]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "vocero.static.HashedStatic"},
}
WHITENOISE_USE_FINDERS = True

_https = VOCERO.public_url.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SECURE_SSL_REDIRECT = False  # The proxy in front redirects; liveness checks come over plain HTTP.
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = False
# The proxy redirects; other subdomains and the browsers' preload list are not this server's to promise.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
if VOCERO.trusted_proxies:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
# Other sites' pages that may embed the client; they are somebody by a client secret, never by a cookie.
CORS_ALLOWED_ORIGINS = list(VOCERO.embed_origins)
CORS_URLS_REGEX = r"^/(?:api|embed)/"
CORS_ALLOW_METHODS = ("GET", "POST", "PUT", "DELETE")
CORS_ALLOW_HEADERS = ("accept", "authorization", "content-type", "x-vocero-conversation")
CORS_EXPOSE_HEADERS = ("location", "retry-after", "x-vocero-conversation", "x-vocero-mode", "x-vocero-turn")
CONTENT_SECURITY_POLICY = {"DIRECTIVES": policy.PAGES}
DATA_UPLOAD_MAX_MEMORY_SIZE = 262_144

LOGGING = logging_config(LOG_LEVEL, also_ours=VOCERO.reasoning.brain.partition(".")[0])
LOGGING_CONFIG = "vocero.logs.configure"

LOGIN_REDIRECT_URL = "admin:index"  # The only pages with a login are the operators'.
UNFOLD = {
    "SITE_TITLE": "Vocero",
    "SITE_HEADER": "Vocero",
    "SITE_SUBHEADER": "Operators",
    "SITE_SYMBOL": "graphic_eq",
    "STYLES": [
        lambda request: static("conversations/admin/vocero.css"),
        lambda request: static("conversations/admin/dashboard.css"),
    ],
    "DASHBOARD_CALLBACK": "conversations.admin.dashboard.context_of",
    "SITE_FAVICONS": [{"rel": "icon", "href": lambda request: static("conversations/icon.svg")}],
    "SIDEBAR": {"navigation": "conversations.admin.navigation.sidebar"},
    "COLORS": {
        "primary": {
            "50": "oklch(97.5% .015 230)",
            "100": "oklch(94.5% .03 230)",
            "200": "oklch(89.5% .06 230)",
            "300": "oklch(82% .1 231)",
            "400": "oklch(73% .12 233)",
            "500": "oklch(63% .13 235)",
            "600": "oklch(53% .125 238)",
            "700": "oklch(46% .11 240)",
            "800": "oklch(39.5% .09 242)",
            "900": "oklch(34% .075 244)",
            "950": "oklch(25% .055 246)",
        },
    },
}
