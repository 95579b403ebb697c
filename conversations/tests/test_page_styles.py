"""What the page's styles keep to: readable colours, both directions of writing, any surrounding page."""

import re
from pathlib import Path

import pytest

STYLES = Path(__file__).parents[1] / "static" / "conversations" / "css"
# Those of whole pages, and of the element that another page holds; all others work inside both.
OUTERMOST = {"embed.css", "frame.css", "plain.css"}
ELSEWHERE = {"reference.css"}  # the description of the interface, which is English only
PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")

# Each text and what it stands on.
READ = {
    "ink": ("ground", "surface", "raised", "tint"),
    "soft": ("ground", "surface", "raised", "tint"),
    "accent": ("ground", "surface", "raised", "tint"),
    "heed": ("ground", "surface"),
    "alarm": ("ground", "surface", "raised"),
    "on-accent": ("accent", "accent-strong"),
}
# The edge of what can be pressed or filled in.
SEEN = {"edge": ("ground", "surface"), "accent": ("ground", "surface")}

PHYSICAL = re.compile(
    r"(?:^|[\s;{])(?:(?:margin|padding|border)-(?:left|right|top|bottom)\b"
    r"|(?:left|right|top|bottom)\s*:|float\s*:|border-(?:top|bottom)-(?:left|right)-radius"
    r"|text-align\s*:\s*(?:left|right))"
)
FOUR_SIDES = re.compile(r"(?:^|[\s;{])(?:margin|padding|inset|border-width)\s*:\s*([^;]+);")


def style_sheets():
    return sorted(path for path in STYLES.glob("*.css") if path.name not in ELSEWHERE)


def without_comments(path):
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


def lopsided(text):
    """Shorthands whose two sides differ: they would be wrong the other way round."""
    values = [found.split() for found in FOUR_SIDES.findall(text) if "(" not in found]
    return [value for value in values if len(value) == 4 and value[1] != value[3]]


@pytest.mark.parametrize("surroundings", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("pairs", "least"), [(READ, 4.5), (SEEN, 3)], ids=["text", "edges"])
def test_every_colour_stands_out_from_what_it_lies_on(surroundings, pairs, least):
    colours = {name: pair[surroundings] for name, *pair in PAIR.findall((STYLES / "tokens.css").read_text())}
    faint = [
        (text, ground, round(contrast(colours[text], colours[ground]), 2))
        for text, grounds in pairs.items()
        for ground in grounds
        if contrast(colours[text], colours[ground]) < least
    ]
    assert faint == []


@pytest.mark.parametrize("path", style_sheets(), ids=lambda path: path.name)
def test_styles_follow_the_direction_of_writing(path):
    text = without_comments(path)
    assert PHYSICAL.findall(text) == []
    assert lopsided(text) == []


@pytest.mark.parametrize("path", style_sheets(), ids=lambda path: path.name)
def test_styles_that_another_page_may_hold_know_neither_its_window_nor_its_body(path):
    if path.name in OUTERMOST:
        return
    text = without_comments(path)
    assert re.findall(r"(?:^|[\s,}])(?:html|body)\b[^;]*{", text) == []
    assert re.findall(r"@media[^{]*(?:width|height)", text) == []
    assert re.findall(r"\b\d+(?:vw|vh|dvh)\b", text) == []
    assert (":root" in text) == (":host" in text)


@pytest.mark.parametrize(
    "text", ["a{left: 0}", "a { margin-left: 1px }", "a{\n  text-align: right;}", "a { border-top: 0 }"]
)
def test_a_physical_side_is_found(text):
    assert PHYSICAL.search(text)


def test_sides_that_differ_are_found_and_those_that_do_not_pass():
    assert lopsided("a { margin: 0 1px 0 2px; }") == [["0", "1px", "0", "2px"]]
    assert lopsided("a { margin: 0 1px; padding: 0 1px 2px 1px; }") == []
    assert not PHYSICAL.search("a { padding-inline: env(safe-area-inset-left); text-align: start; }")
