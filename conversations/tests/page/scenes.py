"""Every state in which a caller can see the page, each played against the stand-in server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from playwright.sync_api import Page, expect

from conversations.tests.page.person import ask, expect_phase, opened, talking, until
from conversations.tests.page.server import Line, PageServer

BRIEFING = "Give me my briefing."
QUESTION = "What is the oxygen level in cage 4?"
ANSWER = (
    "The oxygen level in cage 4 of the south center is 8.2 milligrams per liter today. "
    "Over the last 7 days it was between 8.0 and 8.4, and it is steady."
)
MEASURED = {"call_id": "call_1", "name": "get_metric_history", "turn": 1}
MEASURING = "Reading the measurements"
SOURCE = "Oxygen, cage 4, last 7 days"
SUMMARY = [
    {"label": "Cage", "value": "4, south center"},
    {"label": "Amount", "value": "250 kg"},
    {"label": "Delivery", "value": "Tomorrow before noon"},
]
SHEET = {"nonce": "nonce-1", "call_id": "call_1", "expires_in": 90}
SUGGESTED = ["List the latest reports.", QUESTION, BRIEFING]
SPANISH_WORDS = {
    SUGGESTED[0]: "Enumera los últimos informes.",
    BRIEFING: "Dame mi resumen.",
    QUESTION: "¿Cuál es el nivel de oxígeno en la jaula 4?",
    ANSWER: "Hoy el nivel de oxígeno en la jaula 4 del centro sur es de 8,2 miligramos por litro. "
    "En los últimos 7 días ha estado entre 8,0 y 8,4, y se mantiene estable.",
    MEASURING: "Leyendo las mediciones",
    SOURCE: "Oxígeno, jaula 4, últimos 7 días",
    "Order feed for cage 4.": "Pide pienso para la jaula 4.",
    "Ordering feed": "Pedir pienso",
    "Cage": "Jaula",
    "4, south center": "4, centro sur",
    "Amount": "Cantidad",
    "Delivery": "Entrega",
    "Tomorrow before noon": "Mañana antes de mediodía",
}
CODE = "SELECT cage, avg(oxygen)\nFROM measurements\nWHERE day > '2026-11-01'\nGROUP BY cage;"
PROMPT_STAYS = (
    "if (navigator.mediaDevices) navigator.mediaDevices.getUserMedia = () => new Promise(() => {});"
)
REFUSED = (
    "if (navigator.mediaDevices) navigator.mediaDevices.getUserMedia ="
    " async () => { throw new DOMException('', 'NotAllowedError'); };"
)
NEXT_TRY_WAITS = (
    "const later = setTimeout;"
    "window.setTimeout = (then, ms, ...more) => later(then, window.waits && ms > 100 ? 1e8 : ms, ...more);"
)

Play = Callable[[Page, PageServer, Line], None]


@dataclass(frozen=True)
class Scene:
    """One state: what plays it, and the phase that the page then shows."""

    name: str
    phase: str
    play: Play
    script: str = ""

    def show(self, page: Page, server: PageServer, line: Line) -> None:
        """Plays it on a page that is still empty, and waits until it is there."""
        if self.script:
            page.add_init_script(self.script)
        server.suggestions = [server.word(text) for text in SUGGESTED]
        self.play(page, server, line)
        expect_phase(page, self.phase)


def told(server: PageServer, line: Line) -> None:
    """The caller asked and the tool that helps has answered."""
    line.hears("user_1", server.word(QUESTION))
    line.send("vocero.turn.started", turn=1)
    line.send("vocero.tool.started", label=server.word(MEASURING), **MEASURED)
    sources = [{"title": server.word(SOURCE)}]
    line.send("vocero.tool.completed", duration_ms=640, sources=sources, **MEASURED)


def answered(page: Page, server: PageServer, line: Line) -> None:
    """A first question with its whole answer, read and no longer heard."""
    talking(page, server)
    told(server, line)
    line.speaks(server.word(ANSWER))
    expect(page.locator("[role=log] .answer")).to_have_count(1)


def connecting(page: Page, server: PageServer, line: Line) -> None:
    line.greets = False
    page.goto(server.address)


def awaiting_microphone(page: Page, server: PageServer, _line: Line) -> None:
    opened(page, server)
    page.click("#microphone")


def ready(page: Page, server: PageServer, _line: Line) -> None:
    opened(page, server)


def demo(page: Page, server: PageServer, _line: Line) -> None:
    server.boot |= {
        "unsafe_phone_selector": True,
        "demo_callers": [{"phone": "+34600000001", "label": "Report manager of the north center"}],
        "demo_badge": "Local speech",
        "mode": "apipilot",
    }
    server.tools = [{"name": "list_reports", "description": "The latest reports.", "parameters": {}}]
    opened(page, server)
    page.click("#tools summary")


def listening(page: Page, server: PageServer, _line: Line) -> None:
    talking(page, server)


def hearing(page: Page, server: PageServer, line: Line) -> None:
    answered(page, server, line)
    line.send("input_audio_buffer.speech_started", item_id="user_2", audio_start_ms=0)
    kind = "conversation.item.input_audio_transcription.delta"
    line.send(kind, item_id="user_2", content_index=0, delta="And how was it on")
    expect(page.locator("#live .caller")).to_have_count(1)


def thinking(page: Page, server: PageServer, line: Line) -> None:
    talking(page, server)
    line.hears("user_1", QUESTION)


def tool(page: Page, server: PageServer, line: Line) -> None:
    talking(page, server)
    line.hears("user_1", QUESTION)
    line.send("vocero.tool.started", label=MEASURING, **MEASURED)
    line.send("vocero.tool.progress", progress=0.6, total=1, message="Day 4 of 7", **MEASURED)
    expect(page.locator(".chip progress")).to_be_visible()


def tools_ended(page: Page, server: PageServer, line: Line) -> None:
    """A tool that was refused, one that was declined, and one that was cancelled."""
    opened(page, server)
    ask(page, QUESTION)
    for number, code, message in (
        (1, "forbidden", "You may not see this."),
        (2, "confirmation_declined", "You declined this."),
        (3, "timeout", "This took too long."),
    ):
        call = {"call_id": f"call_{number}", "name": "get_report", "turn": 1}
        line.send("vocero.tool.started", label="Opening the report", **call)
        line.send("vocero.tool.failed", code=code, message=message, ref="k3f9a2", **call)
    line.speaks("I could not open it.")
    expect(page.locator("[role=log] .answer")).to_have_count(1)


def sheet(page: Page, server: PageServer, line: Line) -> None:
    talking(page, server)
    line.hears("user_1", server.word("Order feed for cage 4."))
    summary = [{name: server.word(text) for name, text in row.items()} for row in SUMMARY]
    payload = {**SHEET, "label": server.word("Ordering feed"), "summary": summary}
    line.send("ui-command", label="rtvi-ai", id="1", data={"command": "open_confirm", "payload": payload})
    expect(page.locator("#sheet-yes")).to_be_enabled()


def speaking(page: Page, server: PageServer, line: Line) -> None:
    talking(page, server)
    told(server, line)
    line.speaks(server.word(ANSWER), ms=20_000, done=False)


def interrupted(page: Page, server: PageServer, line: Line) -> None:
    speaking(page, server, line)
    expect_phase(page, "speaking")
    until(page, lambda: [event for event in line.of("vocero.client.played") if event["played_ms"] > 2500])
    page.click("#stop")
    expect(page.locator(".answer .cut")).to_be_visible()


def muted(page: Page, server: PageServer, line: Line) -> None:
    answered(page, server, line)
    page.click("#mute")


def reconnecting(page: Page, server: PageServer, line: Line) -> None:
    answered(page, server, line)
    page.evaluate("window.waits = true")
    line.close(1012)


def ended(page: Page, server: PageServer, line: Line) -> None:
    answered(page, server, line)
    line.send("error", error={"type": "vocero_error", "code": "idle", "message": "", "ref": "k3f9a2"})
    line.close(4410)


def failed_delivery(page: Page, server: PageServer, line: Line) -> None:
    """Typed words that may not have arrived, beside trouble that the server told."""
    opened(page, server)
    ask(page, QUESTION)
    until(page, lambda: line.of("conversation.item.create"))
    line.close(1011)
    expect(page.locator(".delivery button")).to_be_visible()
    expect_phase(page, "ready")
    line.send("error", error={"code": "general", "message": "The model did not answer.", "ref": "k3f9a2"})
    expect(page.locator("#notice-ref")).to_contain_text("k3f9a2")


def microphone_denied(page: Page, server: PageServer, _line: Line) -> None:
    opened(page, server)
    page.click("#microphone")
    expect(page.locator("#notice")).to_be_visible()


def written(page: Page, server: PageServer, line: Line) -> None:
    server.boot["reasoning"] = True
    opened(page, server)
    line.close(4502)
    expect(page.locator("#notice")).to_be_visible()


def captions(page: Page, server: PageServer, line: Line) -> None:
    """What is said in letters for the whole room."""
    talking(page, server)
    page.click("#captions-switch")
    told(server, line)
    line.speaks(server.word(ANSWER), ms=20_000, done=False)
    expect(page.locator("#caption")).not_to_be_empty()


def rated(page: Page, server: PageServer, line: Line) -> None:
    """An answer that was found good, and what else can be asked."""
    answered(page, server, line)
    page.click("#ideas summary")
    page.locator(".rating button").first.click()
    expect(page.locator(".rating [aria-pressed=true]")).to_be_visible()


def settings(page: Page, server: PageServer, line: Line) -> None:
    """The sheet on how one talks, in a call that goes on behind it."""
    answered(page, server, line)
    page.click("#settings-open")
    expect(page.locator("#settings")).to_be_visible()


def holding(page: Page, server: PageServer, _line: Line) -> None:
    """Ready, for somebody who holds the microphone while they speak."""
    opened(page, server)
    page.click("#settings-open")
    page.check("#way-push")
    page.click("#settings-close")


def acting(page: Page, server: PageServer, line: Line) -> None:
    """What a brain does on the screen: a toast, something pointed at, a page that is about to be left."""
    opened(page, server)
    for name, payload in (
        ("toast", {"text": "Saved 4 notes."}),
        ("highlight", {"id": "microphone"}),
        ("navigate", {"path": "/reports/41"}),
    ):
        line.send("ui-command", label="rtvi-ai", id="1", data={"command": name, "payload": payload})
    expect(page.locator("#leaving")).to_be_visible()


def crowded(page: Page, server: PageServer, line: Line) -> None:
    """Long names, long answers, code, an address, emoji and two hundred lines."""
    server.conversation |= {"caller": {"name": "María de los Ángeles Fernández-Villaverde y Goicoechea"}}
    server.turns = [
        {"index": number, "caller_text": BRIEFING, "heard_text": "All is well. 🐟", "outcome": "completed"}
        | {"tools": []}
        for number in range(1, 100)
    ]
    opened(page, server)
    ask(page, "Oxygen" * 30)
    words = f"{ANSWER * 4}\n\n{CODE}\n\nhttps://portal.example.org/{'reports/' * 12}41 👍🏽 👨‍👩‍👧‍👦"
    line.speaks(words)
    expect(page.locator("[role=log] .line")).to_have_count(200)


def problem(name: str, status: int, code: str) -> Scene:
    def play(page: Page, server: PageServer, _line: Line) -> None:
        server.answers = [(status, {"code": code, "request_id": "req-77"}, {})]
        page.goto(server.address)

    return Scene(name, "error", play)


SCENES: Sequence[Scene] = (
    Scene("connecting", "connecting", connecting),
    Scene("ready", "ready", ready),
    Scene("demo", "ready", demo),
    Scene("awaiting-microphone", "awaiting_microphone", awaiting_microphone, PROMPT_STAYS),
    Scene("listening", "listening", listening),
    Scene("hearing", "hearing", hearing),
    Scene("thinking", "thinking", thinking),
    Scene("tool", "thinking", tool),
    Scene("tools-ended", "ready", tools_ended),
    Scene("sheet", "thinking", sheet),
    Scene("speaking", "speaking", speaking),
    Scene("interrupted", "listening", interrupted),
    Scene("muted", "muted", muted),
    Scene("reconnecting", "reconnecting", reconnecting, NEXT_TRY_WAITS),
    Scene("ended", "ended", ended),
    Scene("failed-delivery", "ready", failed_delivery),
    Scene("microphone-denied", "ready", microphone_denied, REFUSED),
    Scene("written", "ready", written),
    Scene("captions", "speaking", captions),
    Scene("rated", "listening", rated),
    Scene("settings", "listening", settings),
    Scene("holding", "ready", holding),
    Scene("acting", "ready", acting),
    Scene("crowded", "ready", crowded),
    problem("unknown-caller", 401, "login_required"),
    problem("busy", 429, "rate_limited"),
    problem("unreachable-login", 503, "backend_unavailable"),
)
