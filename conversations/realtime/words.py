"""What failure codes say, to the caller and to the model, in a live call."""

from __future__ import annotations

from types import MappingProxyType

from tools import executor, sentences

FOR_CALLER = MappingProxyType(
    {
        **{code: sentences.for_caller(code) for code in sentences.FAILURES},
        "no_answer": "Sorry, there was no answer. Please try again.",
        "response_failed": "Sorry, the answer could not be made. Please try again.",
        "speech_lost": "Sorry, the line was interrupted. Please say that again.",
        "forbidden_event": "A client may only answer calls of its own tools that wait for it.",
        "response_incomplete": "Sorry, the answer was broken off.",
        "slow_tool": "One moment.",
        "service_error": "The speech service reported a problem.",
        "too_late": "This was already decided.",
    }
)

# What is also said aloud, by language: short, and true whatever comes next.
SPOKEN = MappingProxyType(
    {
        "en": MappingProxyType(
            {
                "no_answer": "Sorry, I have no answer. Please try again.",
                "response_failed": "Sorry, that did not work. Please try again.",
                "speech_lost": "Sorry, the line was interrupted. Please say that again.",
                "call_limit": "Sorry, I could not find that. Please ask in another way.",
                "malformed_selection": "Sorry, that did not work. Please ask in another way.",
                "slow_tool": "One moment.",
            }
        ),
        "es": MappingProxyType(
            {
                "no_answer": "Lo siento, no tengo respuesta. Inténtalo de nuevo.",
                "response_failed": "Lo siento, no ha funcionado. Inténtalo de nuevo.",
                "speech_lost": "Lo siento, se ha cortado la línea. Repítelo, por favor.",
                "call_limit": "Lo siento, no lo he encontrado. Pregúntalo de otra manera.",
                "malformed_selection": "Lo siento, no ha funcionado. Pregúntalo de otra manera.",
                "slow_tool": "Un momento.",
            }
        ),
    }
)

_DECLINED = "confirmation_declined"

FOR_MODEL = MappingProxyType(
    {
        **{code: executor.refusal(code, sentences.for_model(code)) for code in sentences.FAILURES},
        "finishing": '{"status": "running", "message": "The caller went on. The tool finishes its work; its '
        'result follows in a message of its own."}',
        "heard": "[The caller did not hear your last answer to its end. This much of it was heard:]\n",
        "unheard": "[The caller heard nothing of your last answer.]",
        "finished": "[Result of tool {tool}, which finished after the caller had gone on. It is for later "
        "questions; do not answer it now.]\n",
        "passed_over": executor.refusal(
            _DECLINED,
            "The caller went on instead of tapping yes on the sheet, so nothing was done. Only that tap "
            "confirms: call the tool again only if the caller still wants it.",
        ),
        "no_sheet": executor.refusal(
            _DECLINED,
            "This needs a tap of the caller's, which this client cannot ask for, so nothing was done. "
            "Tell them so.",
        ),
    }
)
