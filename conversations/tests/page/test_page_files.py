"""The page's files as a server gives them out: under hashed names that fit together, and light."""

import gzip
import json
import re

import pytest
from django.core.management import call_command
from django.template.loader import render_to_string

from conversations.tests.page.server import BOOT

IMPORT = re.compile(r'^(?:import|export)\b[^;]*?from "([^"]+)";', re.MULTILINE)


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """Where `collectstatic` put everything, as the server does it."""
    return tmp_path_factory.mktemp("static")


@pytest.fixture
def manifest(collected, settings):
    settings.STATIC_ROOT = collected
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "vocero.static.HashedStatic"},
    }
    names = collected / "staticfiles.json"
    if not names.exists():
        call_command(
            "collectstatic", interactive=False, verbosity=0, ignore_patterns=["admin", "unfold", "ninja"]
        )
    return json.loads(names.read_text())["paths"]


def hashed_modules(manifest):
    return [name for name in manifest.values() if name.startswith("conversations/") and name.endswith(".js")]


def test_each_import_names_the_one_hashed_file_that_the_template_names_too(collected, manifest):
    known = {collected / name for name in manifest.values()}
    found = 0
    for name in hashed_modules(manifest):
        module = collected / name
        for target in IMPORT.findall(module.read_text()):
            assert (module.parent / target).resolve() in known, f"{name} imports {target}"
            found += 1
    assert found > 40


def test_the_template_preloads_every_module_that_the_page_runs_and_nothing_else(collected, manifest):
    html = render_to_string("conversations/page.html", {"boot": BOOT})
    named = set(re.findall(r'(?:src|href)="/static/(conversations/[^"]+\.js)"', html))
    worklets = {manifest[f"conversations/audio/{name}-worklet.js"] for name in ("capture", "playback")}
    reached, waiting = set(), {manifest["conversations/main.js"]}
    while waiting:
        name = waiting.pop()
        reached.add(name)
        module = collected / name
        targets = {
            (module.parent / target).resolve().relative_to(collected.resolve()).as_posix()
            for target in IMPORT.findall(module.read_text())
        }
        waiting |= targets - reached
    assert named == reached
    assert not named & worklets


def test_the_first_load_weighs_less_than_120_kb_compressed(collected, manifest):
    html = render_to_string("conversations/page.html", {"boot": BOOT})
    named = re.findall(r'(?:src|href)="/static/([^"]+)"', html)
    assert len(named) > 25
    weight = sum(len(gzip.compress((collected / name).read_bytes())) for name in set(named))
    weight += len(gzip.compress(html.encode()))
    print(f"The first load weighs {weight / 1000:.1f} kB compressed, in {len(set(named)) + 1} files")
    assert weight < 120_000


def test_the_page_holds_no_inline_script_style_or_handler():
    html = render_to_string("conversations/page.html", {"boot": {**BOOT, "demo_badge": "<b>x</b>"}})
    inline = [tag for tag in re.findall(r"<script[^>]*>", html) if " src=" not in tag]
    assert inline == ['<script id="boot" type="application/json">']
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|https?://(?!www\.w3\.org)", html)
    assert "&lt;b&gt;x&lt;/b&gt;" in html


def test_the_page_is_read_out_in_one_place_and_keeps_one_log():
    html = render_to_string("conversations/page.html", {"boot": BOOT})
    assert re.findall(r'role="(status|log)"', html) == ["status", "log"]
    assert "aria-live" not in html
