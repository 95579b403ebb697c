"""Questions to begin with: for the tools that a caller really has, in their language."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from asgiref.sync import sync_to_async
from django.conf import settings

from conversations import record, toolbox
from conversations.labels import labels_in
from conversations.models import Conversation

MOST = 6

# In the order in which they are offered.
QUESTIONS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "en": {
            "list_reports": "List the latest reports.",
            "get_metric_history": "How has the oxygen developed this week?",
            "get_my_briefing": "Give me my briefing.",
            "list_insights": "Which insights are new?",
            "list_podcasts": "List my podcasts.",
            "read_podcast_transcript": "Read the transcript of the latest episode.",
            "get_report": "What is in the latest report?",
            "get_podcast": "Tell me about the latest podcast.",
        },
        "es": {
            "list_reports": "Enumera los últimos informes.",
            "get_metric_history": "¿Cómo ha evolucionado el oxígeno esta semana?",
            "get_my_briefing": "Dame mi resumen del día.",
            "list_insights": "¿Qué hallazgos nuevos hay?",
            "list_podcasts": "Enumera mis pódcasts.",
            "read_podcast_transcript": "Lee la transcripción del último episodio.",
            "get_report": "¿Qué dice el último informe?",
            "get_podcast": "Háblame del último pódcast.",
        },
    }
)
WITHOUT_TOOLS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "en": ("What can you do?", "Who are you?"),
        "es": ("¿Qué sabes hacer?", "¿Quién eres?"),
    }
)


@dataclass(frozen=True, slots=True)
class Suggested:
    """At most six questions, and the labels of the caller's tools, as far as the operator has set any."""

    questions: Sequence[str]
    labels: Mapping[str, str]


async def suggested(conversation: Conversation, language: str) -> Suggested:
    """Nothing where the caller's tools are not discovered yet. `language` is such as `es`."""
    # The demo's stand-ins understand English alone.
    spoken = "en" if settings.VOCERO.demo else language
    fingerprint = await sync_to_async(record.fingerprint_of)(conversation)
    names = await toolbox.known(conversation.mode, fingerprint)
    labels = {name: text for name, text in labels_in(language).items() if name in names}
    return Suggested(_questions(conversation.mode, names, spoken), labels)


def _questions(mode: str, names: Sequence[str], spoken: str) -> Sequence[str]:
    vocero = settings.VOCERO
    own = _in(spoken, vocero.tool_questions)
    if vocero.reasoning.brain and mode != Conversation.Mode.APIPILOT:
        # A name that no server's tool may have here is that of the brain's.
        names = [*names, *(name for name in own if name not in vocero.mcp_tools)]
    if not names and mode == Conversation.Mode.PLAIN:
        return WITHOUT_TOOLS.get(spoken, WITHOUT_TOOLS["en"])
    return chosen(names, {**_in(spoken, QUESTIONS), **own})


def chosen(names: Collection[str], questions: Mapping[str, str]) -> list[str]:
    """Those for tools of these names, in the questions' own order, each once."""
    found = [text for name, text in questions.items() if name in names and text.strip()]
    return list(dict.fromkeys(found))[:MOST]


def _in(language: str, questions: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {**questions.get("en", {}), **questions.get(language, {})}
