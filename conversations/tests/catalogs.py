"""The catalogs of the page's languages: what has to be in them; `make messages` brings them into step."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import polib

from conversations.realtime.words import FOR_CALLER

ROOT = Path(__file__).resolve().parents[2]
LOCALE = ROOT / "conversations" / "locale"
SCRIPTS = ROOT / "conversations" / "static" / "conversations"
# The pages of an error are beside the folder of the caller's page.
TEMPLATES = (ROOT / "templates" / "conversations", ROOT / "templates")
VIEWS = (ROOT / "conversations" / "views.py", ROOT / "conversations" / "embed.py")

_MARKED = re.compile(r"""gettext_noop\(\s*("(?:[^"\\]|\\.)*")""")
_TRANSLATED = re.compile(r"""{%\s*translate\s+(?:"([^"]*)"|'([^']*)')""")


def sentences() -> dict[str, set[str]]:
    """What each catalog has to know, by its domain: the page's markup, and all that its script says."""
    files = [file for folder in TEMPLATES for file in sorted(folder.glob("*.html"))]
    markup = {found for file in files for found in _in_template(file.read_text())}
    marked = {sentence for views in VIEWS for sentence in _marked(views.read_text())}
    scripted = {found for file in sorted(SCRIPTS.rglob("*.js")) for found in _marked(file.read_text())}
    return {"django": markup | marked, "djangojs": scripted | set(FOR_CALLER.values())}


def _in_template(text: str) -> Iterator[str]:
    for double, single in _TRANSLATED.findall(text):
        yield double or single


def _marked(text: str) -> Iterator[str]:
    yield from (json.loads(literal) for literal in _MARKED.findall(text))


def languages() -> list[str]:
    """Those that have a catalog."""
    return sorted(folder.name for folder in LOCALE.iterdir())


def catalog(language: str, domain: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / f"{domain}.po"


def update(path: Path, wanted: set[str]) -> list[str]:
    """Brings a catalog into step and compiles it; gives the sentences that nobody has translated."""
    before = polib.pofile(str(path))
    known = {entry.msgid: entry.msgstr for entry in before}
    after = polib.POFile(wrapwidth=100)
    after.metadata = before.metadata
    after.extend(polib.POEntry(msgid=one, msgstr=known.get(one, "")) for one in sorted(wanted))
    after.save(str(path))
    path.with_suffix(".mo").write_bytes(after.to_binary())
    return [entry.msgid for entry in after.untranslated_entries()]


def main() -> None:
    for domain, wanted in sentences().items():
        for language in languages():
            path = catalog(language, domain)
            missing = update(path, wanted)
            print(f"{path.relative_to(ROOT)}: {len(wanted)} sentences, {len(missing)} not translated")
            print("".join(f"  {sentence}\n" for sentence in missing), end="")


if __name__ == "__main__":
    main()
