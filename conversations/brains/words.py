"""What a caller reads or hears of a turn that a brain could not finish, by language."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_ENGLISH: Mapping[str, str] = MappingProxyType(
    {
        "timeout": "Sorry, this took too long. Please try again.",
        "no_answer": "Sorry, I have no answer. Please try again.",
        "model_unavailable": "Sorry, I cannot think at the moment. Please try again in a while.",
        "model_refused": "Sorry, I cannot think at the moment. Please try again in a while.",
        "call_limit": "Sorry, I could not find that. Please ask in another way.",
        "unauthorized": "You are no longer signed in.",
        "conversation_closed": "This conversation has ended.",
        "cancelled": "This was cancelled.",
        "internal": "Sorry, something went wrong here. Please try again.",
    }
)
_SPANISH: Mapping[str, str] = MappingProxyType(
    {
        "timeout": "Lo siento, ha tardado demasiado. Inténtalo de nuevo.",
        "no_answer": "Lo siento, no tengo respuesta. Inténtalo de nuevo.",
        "model_unavailable": "Lo siento, ahora mismo no puedo pensar. Inténtalo dentro de un rato.",
        "model_refused": "Lo siento, ahora mismo no puedo pensar. Inténtalo dentro de un rato.",
        "call_limit": "Lo siento, no lo he encontrado. Pregúntalo de otra manera.",
        "unauthorized": "Tu sesión ha caducado.",
        "conversation_closed": "Esta conversación ha terminado.",
        "cancelled": "Se ha cancelado.",
        "internal": "Lo siento, algo ha fallado. Inténtalo de nuevo.",
    }
)
_BY_LANGUAGE = {"en": _ENGLISH, "es": _SPANISH}


def apology(code: str, language: str = "") -> str:
    """The sentence for a turn that ended with that code, such as `timeout`."""
    sentences = _BY_LANGUAGE.get(language, _ENGLISH)
    return sentences.get(code) or sentences["internal"]
