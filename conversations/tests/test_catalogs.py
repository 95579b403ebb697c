"""Every language that the page speaks says everything that the page says."""

import gettext
import json
import re

import polib
import pytest
from django.conf import settings
from django.test import Client

from conversations.tests import catalogs

SENTENCES = catalogs.sentences()
CATALOGS = [(language, domain) for language in catalogs.languages() for domain in SENTENCES]
PLACE = re.compile(r"\{\w+\}|%\(\w+\)[sd]")
HEADING = "Ask, and hear the answer."

each_catalog = pytest.mark.parametrize(("language", "domain"), CATALOGS)


def entries(language, domain):
    return polib.pofile(str(catalogs.catalog(language, domain)))


def compiled(language, domain):
    """What the running server reads."""
    with catalogs.catalog(language, domain).with_suffix(".mo").open("rb") as file:
        return gettext.GNUTranslations(file)


def page_in(language):
    return Client().get("/", headers={"accept-language": language})


def boot_of(response):
    found = re.search(r'<script id="boot" type="application/json">(.*?)</script>', response.content.decode())
    return json.loads(found[1])


def test_there_is_a_catalog_for_each_language_but_english():
    assert ["en", *catalogs.languages()] == [code for code, _name in settings.LANGUAGES]
    assert HEADING in SENTENCES["django"]
    assert {"Listening", "{time} left", "You may not see this."} <= SENTENCES["djangojs"]


@each_catalog
def test_a_catalog_holds_the_sentences_of_the_page_and_no_others(language, domain):
    assert {entry.msgid for entry in entries(language, domain)} == SENTENCES[domain], "run `make messages`"


@each_catalog
def test_every_sentence_is_translated_and_nobody_has_to_look_at_it_again(language, domain):
    left = [one.msgid for one in entries(language, domain) if not one.msgstr or one.fuzzy or one.obsolete]
    assert left == []


@each_catalog
def test_what_is_filled_in_has_its_place_in_the_translation(language, domain):
    for entry in entries(language, domain):
        assert sorted(PLACE.findall(entry.msgstr)) == sorted(PLACE.findall(entry.msgid)), entry.msgid


@each_catalog
def test_the_compiled_catalog_says_what_the_written_one_says(language, domain):
    written = {entry.msgid: entry.msgstr for entry in entries(language, domain)}
    read = compiled(language, domain)
    assert {sentence: read.gettext(sentence) for sentence in written} == written
    assert len(read._catalog) == len(written) + 1, "run `make messages`"  # the one more is the header


def test_bringing_a_catalog_into_step_keeps_translations_and_names_what_is_missing(tmp_path):
    path = tmp_path / "djangojs.po"
    path.write_bytes(catalogs.catalog("es", "djangojs").read_bytes())
    assert catalogs.update(path, {"Listening", "Never said before"}) == ["Never said before"]
    with path.with_suffix(".mo").open("rb") as file:
        assert gettext.GNUTranslations(file).gettext("Listening") == "Te escucho"


@pytest.mark.parametrize(
    ("asked", "language"),
    [("es", "es"), ("es-MX,es;q=0.9,en;q=0.1", "es"), ("de,es;q=0.5", "es"), ("fr", "en"), ("", "en")],
)
def test_the_page_follows_the_language_of_the_browser(asked, language):
    response = page_in(asked)
    html = response.content.decode()
    assert f'<html lang="{language}">' in html
    assert response["Content-Language"] == boot_of(response)["language"] == language
    assert "Accept-Language" in response["Vary"]
    assert (HEADING in html) == (language == "en")


def test_the_script_is_given_its_sentences_and_the_labels_of_the_tools(configure):
    labels = {"en": {"get_report": "Reading a report", "x": "X"}, "es": {"get_report": "Leyendo un informe"}}
    configure(tool_labels=labels)
    assert boot_of(page_in("en"))["catalog"] == {}
    spanish = boot_of(page_in("es"))["catalog"]
    assert spanish["Listening"] == "Te escucho"
    assert spanish["Reading a report"] == "Leyendo un informe"
    assert "X" not in spanish


def test_the_demo_speaks_spanish_too(configure):
    configure(demo=True, demo_badge="Local speech")
    boot = boot_of(page_in("es"))
    assert boot["demo_badge"] == "Voz local"
    assert "Administración" in [caller["label"] for caller in boot["demo_callers"]]
    configure(demo_badge="")
    assert boot_of(page_in("es"))["demo_badge"] == ""
