"""The house rules of CONTRIBUTING.md, held against every file of the project."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from vocero import env
from vocero.tests import house_rules as rules

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("vocero", "conversations", "tools", "demo", "bench")
CATCH_ALLS = {"tools/executor.py": 1, "conversations/realtime/session.py": 1}
# The one reader of settings; two that only name the settings module; one that hands its environment on.
ENVIRONMENT = {"vocero/env.py", "conftest.py", "manage.py", "vocero/asgi.py", "demo/run.py"}
ONLY_DEFAULT = {"manage.py", "vocero/asgi.py"}


def sources(*endings: str) -> list[Path]:
    inside = [path for package in PACKAGES for path in (ROOT / package).rglob("*")]
    outside = [path for path in ROOT.iterdir() if path.is_file()]
    skipped = {"migrations", "node_modules", "vendor", "__pycache__"}
    return sorted(p for p in inside + outside if p.suffix in endings and not skipped.intersection(p.parts))


def prose() -> list[Path]:
    folders = [
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "templates").rglob("*.html"),
        *(ROOT / ".ci").iterdir(),
    ]
    named = [ROOT / name for name in ("Makefile", ".env.example", ".gitignore")]
    return [*sources(".py", ".js", ".mjs", ".css", ".html", ".md", ".toml", ".txt"), *folders, *named]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_test(path: Path) -> bool:
    return "tests" in path.parts or path.name == "conftest.py"


def hold(rule: Callable[[str], list[str]], paths: list[Path]) -> None:
    """Fails with every offence, each on a line of its own."""
    found = [f"{name(path)}:{offence}" for path in paths for offence in rule(path.read_text())]
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def test_the_project_is_really_read():
    assert {"vocero/env.py", "tools/contract.py", "demo/run.py", "conftest.py"} <= set(
        map(name, sources(".py"))
    )


def test_no_file_is_longer_than_400_lines():
    hold(rules.long_file, sources(".py", ".js", ".mjs"))


def test_no_function_is_longer_than_40_code_lines():
    hold(rules.long_functions, sources(".py"))


def test_only_the_executor_and_the_session_catch_everything_and_each_once():
    found = [(name(path), rules.catch_alls(path.read_text())) for path in sources(".py")]
    assert [(file, where) for file, where in found if len(where) > CATCH_ALLS.get(file, 0)] == []


def test_the_environment_is_read_in_one_module():
    paths = [path for path in sources(".py") if name(path) not in ENVIRONMENT and not is_test(path)]
    hold(rules.environment_uses, paths)


@pytest.mark.parametrize("file", sorted(ONLY_DEFAULT))
def test_entry_points_only_name_the_settings_module(file):
    text = (ROOT / file).read_text()
    assert (
        len(rules.environment_uses(text)) == text.count('os.environ.setdefault("DJANGO_SETTINGS_MODULE"') == 1
    )


def test_no_test_sleeps():
    hold(rules.sleeps, [path for path in sources(".py") if is_test(path)])


def test_no_module_has_a_name_that_says_nothing():
    assert [name(path) for path in sources(".py", ".js", ".mjs") if rules.vague_name(path.stem)] == []


def test_every_module_opens_with_a_line_on_what_lives_there():
    hold(rules.missing_opening, sources(".py"))
    hold(rules.missing_script_opening, sources(".js", ".mjs"))


def test_no_file_holds_a_note_for_later():
    hold(rules.left_notes, prose())


def test_no_file_names_a_folder_of_somebodys_machine():
    hold(rules.machine_paths, prose())


def test_the_example_lists_exactly_the_settings_that_are_read():
    shown = rules.settings_shown((ROOT / ".env.example").read_text())
    assert set(shown) == rules.settings_read((ROOT / "vocero/env.py").read_text())


def test_every_value_of_the_example_is_the_default():
    shown = rules.settings_shown((ROOT / ".env.example").read_text())
    required = {"SECRET_KEY": "set"}
    assert env.read_vocero(shown) == env.read_vocero({})
    assert env.read_django(shown | required) == env.read_django(required)


def test_a_numeric_value_of_the_example_is_written_out():
    shown = rules.settings_shown((ROOT / ".env.example").read_text())
    written = {setting for setting, value in shown.items() if value}
    source = (ROOT / "vocero/env.py").read_text()
    assert set(re.findall(r'read\.(?:whole|number)\("(\w+)"', source)) <= written


def test_a_package_has_the_same_version_in_every_file_of_one_environment():
    extras = ("-gemini", "-dev", "-demo")
    files = ("requirements.txt", *(f"requirements{extra}.txt" for extra in extras))
    pins = [pin for file in files for pin in rules.pins((ROOT / file).read_text()).items()]
    assert len(dict(pins)) == len(set(pins))


LONG_FUNCTION = "def f():\n" + "    x = 1\n" * 40
SHORT_FUNCTION = 'def f():\n    """Said.\n\n    More.\n    """\n' + "    # why\n\n" * 30 + "    x = 1\n" * 39
FOUND = [
    (rules.long_file, "x\n" * 401),
    (rules.long_functions, LONG_FUNCTION),
    (rules.long_functions, "async " + LONG_FUNCTION),
    (rules.catch_alls, "try:\n    f()\nexcept:\n    pass"),
    (rules.catch_alls, "try:\n    f()\nexcept (OSError, Exception) as e:\n    pass"),
    (rules.catch_alls, "try:\n    f()\nexcept* BaseException:\n    pass"),
    (rules.catch_alls, "try:\n    f()\nexcept Exception:\n    raise"),
    (rules.catch_alls, "try:\n    f()\nexcept BaseException as e:\n    raise X from e"),
    (rules.catch_alls, "with contextlib.suppress(Exception):\n    f()"),
    (rules.environment_uses, "import os\nos.environ['A']"),
    (rules.environment_uses, "import os\nos.getenv('A')"),
    (rules.environment_uses, "from os import environ"),
    (rules.sleeps, "await asyncio.sleep(0.1)"),
    (rules.sleeps, "from time import sleep\nsleep(1)"),
    (rules.missing_opening, "import os"),
    (rules.missing_opening, '"""Two lines\nof opening."""'),
    (rules.missing_script_opening, "export const a = 1;"),
    (rules.left_notes, "# TO" + "DO: later"),
    (rules.machine_paths, "see /wo" + "rk/main"),
    (rules.machine_paths, "see ../sha" + "red/file"),
]
PASSED = [
    (rules.long_file, "x\n" * 400),
    (rules.long_functions, SHORT_FUNCTION),
    (rules.catch_alls, "try:\n    f()\nexcept OSError:\n    pass"),
    (rules.catch_alls, "try:\n    f()\nexcept BaseException:\n    tidy()\n    raise"),
    (rules.environment_uses, "environ['A'], self.environ, os.path"),
    (rules.sleeps, "await asyncio.sleep(0)"),
    (rules.missing_opening, '"""One line."""\nimport os'),
    (rules.missing_opening, '"""One line.\n\nAnd more of it.\n"""\nimport os'),
    (rules.missing_opening, ""),
    (rules.missing_script_opening, "/** Plays audio. */\nexport {};"),
    (rules.left_notes, "TODOS, todo"),
    (rules.machine_paths, "https://example.org/work/1 shared memory"),
]


@pytest.mark.parametrize(("rule", "text"), FOUND)
def test_a_rule_finds_what_breaks_it(rule, text):
    assert len(rule(text)) == 1


@pytest.mark.parametrize(("rule", "text"), PASSED)
def test_a_rule_passes_what_keeps_it(rule, text):
    assert rule(text) == []


@pytest.mark.parametrize("stem", ["utils", "string_utils", "base", "task_manager", "handlers", "common"])
def test_a_vague_name_is_found(stem):
    assert rules.vague_name(stem)


@pytest.mark.parametrize("stem", ["database", "executor", "handle", "commons_license"])
def test_a_telling_name_passes(stem):
    assert not rules.vague_name(stem)


def test_settings_are_found_where_they_are_asked_for():
    source = 'read.text("S2S_A")\nread.database("DATABASE_URL")\nvalues.get("ENV_FILE")'
    assert rules.settings_read(source) == {"S2S_A", "DATABASE_URL"}
    assert rules.settings_shown("# Prose=no\n#S2S_A=1\n# S2S_B=\nDEBUG=x=y\n") == {
        "S2S_A": "1",
        "S2S_B": "",
        "DEBUG": "x=y",
    }


def test_pins_are_read_with_extras_and_hashes():
    assert rules.pins("# a==1\nA_b[x,y]==1.2 \\\n    --hash=sha256:0\n-r other.txt\n") == {"a-b": "1.2"}
