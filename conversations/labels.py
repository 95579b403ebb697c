"""What callers read of a tool, in their language: while it runs, and in the list of what they may use."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings


def labels_in(language: str) -> Mapping[str, str]:
    """The labels that are set, by the tools' names: in that language, such as `es`, else in English."""
    known = settings.VOCERO.tool_labels
    return {**known.get("en", {}), **known.get(language, {})}


def label(name: str, language: str) -> str:
    """What a page calls a tool: its label, else its name in words."""
    return labels_in(language).get(name) or name.replace("_", " ").capitalize()
