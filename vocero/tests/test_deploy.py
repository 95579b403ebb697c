"""The image, the composition, the proxy and the alerts say what the documentation and the settings say."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from conversations.metrics import METER

ROOT = Path(__file__).resolve().parents[2]
READ = re.compile(r'"([A-Z][A-Z0-9_]+)"')
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
ALERTS = [
    rule
    for group in yaml.safe_load((ROOT / "deploy/alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("vocero:")}
OPERATIONS = (ROOT / "docs/operations.md").read_text()
NGINX = (ROOT / "deploy/nginx.conf").read_text()


def instructions(kind):
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    return [
        line.removeprefix(f"{kind} ").strip() for line in text.splitlines() if line.startswith(f"{kind} ")
    ]


def settings():
    """The names of all settings, as `env.py` reads them."""
    return set(READ.findall((ROOT / "vocero/env.py").read_text()))


def options(command):
    """The options of a server's command but for where it listens."""
    words = dict(zip(command, [*command[1:], ""], strict=True))
    return {word: value for word, value in words.items() if word.startswith("--") and word != "--host"}


def served():
    return [word.strip(' ",') for word in instructions("CMD")[-1].strip("[]").split(",")]


def minutes(directive, inside=NGINX):
    found = re.findall(rf"{directive} (\d+)([ms]);", inside)
    return [int(number) / (1 if unit == "m" else 60) for number, unit in found]


def test_the_served_command_is_the_documented_one():
    documented = re.search(r"\nuvicorn (.*?)\n```", OPERATIONS, re.DOTALL)[1].replace("\\\n", " ")
    assert served()[:2] == ["uvicorn", "vocero.asgi:application"]
    assert options(served()) == options(shlex.split(documented))
    assert {"--ws-per-message-deflate", "--timeout-graceful-shutdown"} <= set(options(served()))


def test_the_image_is_pinned_runs_as_nobody_in_particular_and_is_asked_how_it_is():
    (python,) = [
        value for name, value in (line.split("=") for line in instructions("ARG")) if name == "PYTHON"
    ]
    assert re.fullmatch(r"3\.\d+\.\d+-slim-\w+", python)
    assert all(line.startswith("python:${PYTHON}") for line in instructions("FROM"))
    assert instructions("USER") == ["10001:10001"]
    (health,) = instructions("HEALTHCHECK")
    assert "/livez" in health
    assert "CMD [" in health
    # Whatever the umask of who checked the sources out.
    assert any("chmod -R a+rX ." in line for line in instructions("RUN"))


def test_what_is_copied_is_there_and_nothing_else_is_sent():
    copied = [word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]]
    ignored = (ROOT / ".dockerignore").read_text().split("\n")
    assert all((ROOT / name).exists() for name in copied)
    assert "*" in ignored
    assert {line[1:] for line in ignored if line.startswith("!")} == set(copied)


def test_no_secret_is_in_a_layer_or_in_the_composition():
    secret = re.compile(r"SECRET|TOKEN|PASSWORD|API_KEY")
    assert not [line for kind in ("ENV", "ARG") for line in instructions(kind) if secret.search(line)]
    for service in SERVICES.values():
        named = [name for name in service.get("environment", {}) if secret.search(name)]
        assert all(name.endswith("_FILE") for name in named)
    assert {"deploy/secrets/", "deploy/vocero.env"} <= set((ROOT / ".gitignore").read_text().split())


def test_every_setting_that_is_named_exists():
    example = (ROOT / "deploy/vocero.env.example").read_text()
    named = set(re.findall(r"^([A-Z0-9_]+)=", example, re.MULTILINE))
    for service in OURS.values():
        named |= {name.removesuffix("_FILE") for name in service["environment"]}
    assert len(named) > 5
    assert named <= settings()


def test_every_secret_and_file_that_a_service_wants_is_made():
    made = set(
        re.findall(r"^keep (\w+)|secrets/(tls_\w+)", (ROOT / "deploy/prepare").read_text(), re.MULTILINE)
    )
    files = {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()}
    assert files == {name for pair in made for name in pair if name}
    for service in SERVICES.values():
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])
        for value in service.get("environment", {}).values():
            if value.startswith("/run/secrets/"):
                assert Path(value).name in service["secrets"]
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).is_file()


def test_two_processes_a_one_time_migration_and_an_hourly_cleanup():
    webs = [name for name, service in OURS.items() if "command" not in service]
    assert len(webs) == 2
    for name in webs:
        assert int(SERVICES[name]["stop_grace_period"].rstrip("s")) > int(
            options(served())["--timeout-graceful-shutdown"]
        )
        assert SERVICES[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
        # A container that is made anew has another address.
        assert f"server {name}:8000 resolve " in NGINX
        assert SERVICES["proxy"]["depends_on"][name]["condition"] == "service_healthy"
    assert SERVICES["migrate"]["restart"] == "no"
    assert "manage.py cleanup" in SERVICES["cleanup"]["command"][-1]
    assert "sleep 3600" in SERVICES["cleanup"]["command"][-1]
    assert all(service["read_only"] and service["cap_drop"] == ["ALL"] for service in OURS.values())


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if "build" not in service])
def test_every_image_of_others_is_pinned_and_watched(name):
    assert re.fullmatch(r"\w+:\d+\.\d+(\.\d+)?-bookworm", SERVICES[name]["image"])
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


def test_the_proxy_passes_upgrades_on_waits_long_and_is_the_only_one_trusted():
    call = NGINX.partition("location = /v1/realtime {")[2].partition("}")[0]
    anything = NGINX.partition("location / {")[2].partition("}")[0]
    assert minutes("proxy_read_timeout", call)[0] >= 5
    assert minutes("proxy_read_timeout", anything)[0] > 3  # the longest turn over HTTP
    for header in ("Upgrade $http_upgrade", "Connection $connection_upgrade", "Host $http_host"):
        assert f"proxy_set_header {header};" in NGINX
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in NGINX
    assert "proxy_set_header X-Forwarded-Proto $scheme;" in NGINX
    assert "proxy_buffering off;" in NGINX
    assert "resolver 127.0.0.11 " in NGINX
    assert "zone vocero " in NGINX.partition("upstream vocero {")[2].partition("}")[0]
    assert {service["environment"]["S2S_TRUSTED_PROXIES"] for service in OURS.values()} == {"1"}


def test_no_log_of_the_proxy_holds_a_phone_link():
    logged = NGINX.partition("log_format")[2].partition(";")[0]
    assert "$uri" in logged
    assert not re.search(r"\$(request\b|request_uri|args|query_string|http_referer|arg_)", logged)
    root = NGINX.partition("location = / {")[2].partition("}")[0]
    assert "error_log /dev/stderr crit;" in root


@pytest.mark.parametrize("alert", ALERTS, ids=lambda rule: rule["alert"])
def test_every_alert_asks_for_what_there_is_and_has_a_runbook(alert):
    known = {family.name for family in METER.registry.collect()}
    # What is looked up when somebody asks, in part from the database.
    known |= set(re.findall(r'"(vocero_\w+)"', (ROOT / "conversations/scraping.py").read_text()))
    for metric in re.findall(r"\b(?:vocero_\w+)", alert["expr"].replace('job="vocero"', "")):
        assert re.sub(r"_(total|bucket)$", "", metric) in known
    file, _, anchor = alert["annotations"]["runbook"].partition("#")
    assert file == "docs/operations.md"
    headings = {heading.lower() for heading in re.findall(r"^### (\w+)$", OPERATIONS, re.MULTILINE)}
    assert anchor in headings
    assert anchor == alert["alert"].lower()


def test_every_runbook_belongs_to_an_alert():
    runbooks = OPERATIONS.partition("## Alerts")[2].partition("\n## ")[0]
    assert set(re.findall(r"^### (\w+)$", runbooks, re.MULTILINE)) == {rule["alert"] for rule in ALERTS}
