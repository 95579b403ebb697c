"""Spans of a call: named as others name them, without anything that was said, sent nowhere by accident."""

import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from conversations.core.records import CallClosed, CallOpened, TurnClosed, TurnOpened
from conversations.models import ToolCall, Turn
from conversations.tests.serving import environment
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stored import rows
from conversations.tests.talking import ADMINISTRATOR, Person, eventually
from conversations.tracing import MOST_OPEN, TRACES, Traces
from demo.model.testing import KEY, running_model
from vocero import telemetry
from vocero.services import Reasoning

pytest_plugins = ("conversations.tests.deployment",)

QUESTION = "What do you have for me?"


def told(exporter):
    return {span.name: span for span in exporter.get_finished_spans()}


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter):
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("test")


@pytest.fixture
def traces(tracer):
    traces = Traces()
    traces.begin(tracer)
    return traces


@pytest.fixture
def traced(tracer):
    """The process's own spans, in memory."""
    TRACES.begin(tracer)
    yield
    TRACES.begin(None)


def turn(traces, call=None, code="", outcome="done", origin="voice"):
    turn_id = str(uuid.uuid4())
    traces.record(TurnOpened(turn_id, "the-conversation", 1, origin, 10.0))
    if call:
        traces.record(
            CallOpened(
                "the-call",
                "the-conversation",
                turn_id,
                1,
                call,
                "native",
                "get_report",
                '{"a": "secret"}',
                "d",
                1,
                11.0,
            )
        )
        status = "failed" if code else "completed"
        traces.record(CallClosed("the-call", status, 12.5, 1500, code, 321, excerpt="a secret result"))
    traces.record(
        TurnClosed(turn_id, outcome, "a secret question", "a secret answer", 14.0, 10.5, 13.0, "no_answer")
    )


def test_a_turn_and_its_tool_are_spans_with_the_times_of_their_records(traces, exporter):
    turn(traces, "aquaportal")
    spans = told(exporter)
    agent, tool = spans["invoke_agent vocero"], spans["execute_tool get_report"]
    assert tool.parent.span_id == agent.context.span_id
    assert (tool.start_time, tool.end_time) == (11_000_000_000, 12_500_000_000)
    assert (agent.start_time, agent.end_time) == (10_000_000_000, 14_000_000_000)
    assert tool.attributes["gen_ai.operation.name"] == "execute_tool"
    assert tool.attributes["gen_ai.tool.call.id"] == "the-call"
    assert (
        tool.attributes["gen_ai.conversation.id"]
        == agent.attributes["gen_ai.conversation.id"]
        == "the-conversation"
    )
    assert agent.attributes["vocero.turn.first_answer_ms"] == 2500
    assert "error.type" not in tool.attributes
    assert agent.parent is None


def test_a_failure_is_told_by_its_code(traces, exporter):
    turn(traces, "aquaportal", code="timeout", outcome="failed")
    agent, tool = told(exporter)["invoke_agent vocero"], told(exporter)["execute_tool get_report"]
    assert (tool.attributes["error.type"], tool.status.status_code) == ("timeout", StatusCode.ERROR)
    assert (agent.attributes["error.type"], agent.status.status_code) == ("no_answer", StatusCode.ERROR)
    assert tool.status.description is None


def test_a_name_that_no_source_offers_is_not_told(traces, exporter):
    turn(traces, call="", code="unknown_tool")
    traces.record(CallOpened("c", "k", "t", 1, "", "native", "+34600000001", None, "", 1, 1.0))
    traces.record(CallClosed("c", "failed", 1.0, 0, "unknown_tool"))
    assert "600000001" not in " ".join(span.to_json() for span in exporter.get_finished_spans())
    assert told(exporter)["execute_tool unknown"].attributes["error.type"] == "unknown_tool"


def test_spans_that_never_end_are_bounded_and_told_as_lost(traces, exporter):
    for number in range(MOST_OPEN + 1):
        traces.record(TurnOpened(str(number), "c", 1, "voice", 1.0))
    [lost] = exporter.get_finished_spans()
    assert lost.attributes["error.type"] == "lost"


async def test_a_call_leaves_its_spans_and_none_of_its_words(ada, speech, aquaportal, traced, exporter):
    async with ada.talks() as talk:
        await talk.ready()
        report = Calls.one("get_report", {"request": {"report_id": "argument-zqx"}})
        speech.replies += [Calls.one("get_my_briefing", {}), report, Says("Here it is, zqx.")]
        await talk.types(QUESTION)
        await talk.shown("response.output_audio_transcript.done")
        await talk.shown("response.done")
        await ada.cleans_up()
    await eventually(over)
    spans = exporter.get_finished_spans()
    names = [span.name for span in spans]
    assert sorted(names) == ["execute_tool get_my_briefing", "execute_tool get_report", "invoke_agent vocero"]
    calls = {str(call.pk): call for call in await rows(ToolCall)}
    for span in spans:
        if span.name.startswith("execute_tool"):
            call = calls.pop(span.attributes["gen_ai.tool.call.id"])
            assert span.attributes["gen_ai.tool.name"] == call.name
            assert span.attributes.get("error.type", "") == call.code
            assert (span.end_time - span.start_time) / 1e6 >= call.duration_ms - 50
    everything = " ".join(span.to_json() for span in spans)
    for text in ("zqx", QUESTION, "Reference data", "600000001", *aquaportal.accounts.tokens, ada.cookie):
        assert text not in everything
    # AquaPortal learns nothing of our traces.
    assert "traceparent" not in str(aquaportal.requests)


async def over():
    return all(one.outcome != "running" for one in await rows(Turn))


async def test_a_turn_over_http_has_its_model_requests_and_tools_inside(vocero, configure, traced, exporter):
    with running_model() as model:
        configure(reasoning=Reasoning(base_url=model.base_url, api_key=KEY, model="demo-planner"))
        person = Person(vocero)
        await person.bootstrap(phone=ADMINISTRATOR)
        headers = {"X-Vocero-Conversation": person.conversation, "Accept": "application/json"}
        answer = await person.send("POST", "/api/reasoning", {"text": "Give me my briefing."}, **headers)
    assert answer.json()["tool_calls"]
    spans = exporter.get_finished_spans()
    [agent] = [span for span in spans if span.name == "invoke_agent vocero"]
    chats = [span for span in spans if span.name == "chat demo-planner"]
    assert len(chats) >= 2
    assert {span.parent.span_id for span in spans if span is not agent} == {agent.context.span_id}
    assert {span.attributes["gen_ai.provider.name"] for span in chats} == {"openai"}
    assert answer.json()["text"] not in " ".join(span.to_json() for span in spans)


# ---- where they go


class Collector(ThreadingHTTPServer):
    """An OTLP collector: what it was sent, decoded."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Collecting)
        self.requests, self.arrived = [], threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Collecting(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        self.server.requests.append((self.path, request))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.arrived.set()

    def log_message(self, *args):
        """Nothing is written."""


@pytest.fixture
def collector():
    server = Collector()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


SENDING = """
import sys
from conversations.core.records import CallClosed, CallOpened, TurnClosed, TurnOpened
from conversations.tracing import Traces
from vocero import telemetry
traces = Traces()
traces.begin(telemetry.tracer(sys.argv[1]))
traces.record(TurnOpened("t", "the-conversation", 1, "voice", 10.0))
picked = ("aquaportal", "native", "get_report", "{}", "d", 1, 11.0)
traces.record(CallOpened("the-call", "the-conversation", "t", 1, *picked))
traces.record(CallClosed("the-call", "failed", 12.0, 1000, "timeout"))
traces.record(TurnClosed("t", "done", "said", "heard", 13.0))
"""


def test_a_collector_gets_them_over_otlp_when_the_process_ends(collector):
    done = subprocess.run(
        [sys.executable, "-c", SENDING, collector.url],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert collector.arrived.wait(20)
    [(path, request)] = collector.requests
    assert path == "/v1/traces"
    [sent] = request.resource_spans
    assert ("service.name", "vocero") in {
        (one.key, one.value.string_value) for one in sent.resource.attributes
    }
    spans = {span.name: span for scope in sent.scope_spans for span in scope.spans}
    tool, agent = spans["execute_tool get_report"], spans["invoke_agent vocero"]
    assert tool.parent_span_id == agent.span_id
    assert ("error.type", "timeout") in {(one.key, one.value.string_value) for one in tool.attributes}


def started(*lines, **settings):
    code = "\n".join(
        ["import sys", *lines, "import vocero.asgi", "print('opentelemetry.exporter.otlp' in sys.modules)"]
    )
    asked = [sys.executable, "-W", "ignore", "-c", code]
    env = environment(DJANGO_SETTINGS_MODULE="vocero.settings", DATABASE_URL="sqlite://:memory:", **settings)
    return subprocess.run(asked, capture_output=True, text=True, timeout=240, check=False, env=env)


def test_without_an_endpoint_nothing_of_the_sdk_is_loaded():
    assert started().stdout.strip() == "False"
    assert telemetry.tracer("") is None


def test_with_an_endpoint_and_without_the_packages_the_start_is_refused_with_the_mend():
    refused = started(
        "sys.modules['opentelemetry.sdk'] = None", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9"
    )
    assert refused.returncode == 1
    assert "pip install -r requirements-otel.txt" in refused.stderr
