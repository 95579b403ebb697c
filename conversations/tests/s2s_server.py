"""huggingface/speech-to-speech as it is, around an ear, a mind and a mouth that a script stands in for.

Its own service, router, queues and handlers run; the ear hears loud and quiet, the mind says what it is
given, the mouth hums. A program for the environment of requirements-s2s.txt. `POST /script` sets what is
heard and said next, `GET /asked` tells what the mind was asked, `POST /drop` hangs up.
"""

import argparse
import threading
import time
import uuid
from collections import deque
from queue import Queue

import numpy
import uvicorn
from openai.types.realtime import RealtimeConversationItemFunctionCall
from openai.types.responses import ResponseFunctionToolCall
from speech_to_speech.api.openai_realtime.pipeline_unit import PipelineUnit
from speech_to_speech.api.openai_realtime.service import RealtimeService
from speech_to_speech.api.openai_realtime.websocket_router import create_app
from speech_to_speech.baseHandler import BaseHandler
from speech_to_speech.LLM.chat import make_assistant_message
from speech_to_speech.LLM.lm_output_processor import LMOutputProcessor
from speech_to_speech.pipeline.cancel_scope import CancelScope
from speech_to_speech.pipeline.events import SpeechStartedEvent, SpeechStoppedEvent
from speech_to_speech.pipeline.history import ResponseHistory
from speech_to_speech.pipeline.messages import (
    AUDIO_RESPONSE_DONE,
    AssistantTextPart,
    AssistantToolCallPart,
    EndOfResponse,
    LLMResponseChunk,
    Transcription,
)
from speech_to_speech.pipeline.speculative_turns import SpeculativeTurnTracker
from speech_to_speech.STT.transcription_notifier import TranscriptionNotifier

LOUD = 500
CHUNK_MS = 32
QUIET_CHUNKS = 5
HUM = bytes(640)  # 20 ms at 16 kHz


class Script:
    """What will be heard and said next, and what the mind was asked; `seconds` is how long it then hums."""

    def __init__(self):
        self.heard = deque()
        self.replies = deque()
        self.asked = []
        self.seconds = 0.1

    def set(self, body):
        self.heard = deque(body.get("hears", ()))
        self.replies = deque(body.get("says", ()))
        self.asked = []

    def reply(self):
        return self.replies.popleft() if self.replies else {"text": "I have nothing to say."}


class Ear(BaseHandler):
    """In the place of voice detection and transcription."""

    def setup(self, script, turns, events):
        self.script, self.turns, self.events = script, turns, events
        self.on_session_end()

    def on_session_end(self):
        self.now_ms, self.speaking, self.quiet = 0, False, 0
        self.turns.reset()

    def process(self, item):
        chunk, _config = item
        self.now_ms += CHUNK_MS
        loud = int(numpy.abs(numpy.frombuffer(chunk, "<i2").astype(int)).max()) > LOUD
        if loud and not self.speaking:
            self.speaking = True
            turn_id, revision, reopened = self.turns.speech_started(self.now_ms)
            turn = {"turn_id": turn_id, "turn_revision": revision}
            self.events.put(SpeechStartedEvent(audio_start_ms=self.now_ms, reopened=reopened, **turn))
        self.quiet = 0 if loud else self.quiet + 1
        if self.speaking and self.quiet == QUIET_CHUNKS:
            self.speaking = False
            turn_id, revision = self.turns.current_turn()
            turn = {"turn_id": turn_id, "turn_revision": revision}
            self.events.put(SpeechStoppedEvent(duration_s=0.5, audio_end_ms=self.now_ms, **turn))
            self.turns.segment_finalized(self.now_ms)
            text = self.script.heard.popleft() if self.script.heard else ""
            yield Transcription(text=text, speech_stopped_at_s=time.perf_counter(), **turn)


class Mind(BaseHandler):
    """In the place of the language model."""

    def setup(self, script, cancel_scope):
        self.script, self.cancel_scope = script, cancel_scope

    def process(self, request):
        chat, reply = request.runtime_config.chat, self.script.reply()
        self.script.asked.append(seen(request))
        self.script.seconds = reply.get("seconds", 0.1)
        anchor = chat.history_anchor_id()
        about = {
            "turn_id": request.turn_id,
            "turn_revision": request.turn_revision,
            "cancel_generation": self.cancel_scope.generation,
            "response_key": request.response_key,
        }
        rest = {"runtime_config": request.runtime_config, "response": request.response}
        rest["prefetch_transaction"] = request.prefetch_transaction
        said = []
        if reply.get("text"):
            said.append(make_assistant_message(reply["text"]))
            for sentence in reply["text"].split(". "):
                part = AssistantTextPart(text=sentence)
                yield LLMResponseChunk(parts=[part], **rest, **about)
        for name, arguments in reply.get("calls", ()):
            call = {"name": name, "arguments": arguments, "type": "function_call", "status": "completed"}
            call |= {"call_id": f"call_{uuid.uuid4().hex[:27]}", "id": f"fc_{uuid.uuid4().hex}"}
            said.append(RealtimeConversationItemFunctionCall(**call))
            history = ResponseHistory.capture(chat, said, after_item_id=anchor)
            part = AssistantToolCallPart(tool=ResponseFunctionToolCall(**call))
            yield LLMResponseChunk(parts=[part], history=history, **rest, **about)
        history = ResponseHistory.capture(chat, said, after_item_id=anchor, complete=True)
        used = request.runtime_config.chat.tool_output_call_ids()
        yield EndOfResponse(history=history, error=reply.get("fails"), input_tool_call_ids=used, **about)


def seen(request):
    """What the model would be sent: the items, and the tools that it may pick."""
    session, response = request.runtime_config.session, request.response
    tools = response.tools if response and response.tools is not None else session.tools
    choice = response.tool_choice if response and response.tool_choice else session.tool_choice
    return {
        "items": [
            item.model_dump(mode="json", exclude_none=True) for item in request.runtime_config.chat.buffer
        ],
        "tools": [tool.name for tool in tools or ()],
        "tool_choice": str(choice),
        "instructions": session.instructions,
    }


class Mouth(BaseHandler):
    """In the place of speech synthesis: hums for as long as the script says."""

    def setup(self, script, cancel_scope, turns):
        self.script, self.cancel_scope, self.speculative_turns = script, cancel_scope, turns

    def process(self, item):
        if isinstance(item, EndOfResponse):
            yield AUDIO_RESPONSE_DONE
            return
        generation, seconds = self.cancel_scope.generation, self.script.seconds
        slowly = seconds > 1
        for _ in range(int(seconds * 50)):
            if self.cancel_scope.is_stale(generation) or self.stop_event.is_set():
                return
            yield HUM
            if slowly:
                self.stop_event.wait(0.02)


def unit(index, script, stop):
    """One pipeline, wired as the package wires its own, and its threads running."""
    audio_in, spoken, asked, thought, voiced, audio_out = (Queue() for _ in range(6))
    events, listen, scope, turns = Queue(), threading.Event(), CancelScope(), SpeculativeTurnTracker()
    service = RealtimeService(text_prompt_queue=asked, should_listen=listen, speculative_turns=turns)
    ear = {"script": script, "turns": turns, "events": events}
    mouth = {"script": script, "cancel_scope": scope, "turns": turns}
    processor = {"speculative_turns": turns, "text_output_queue": events}
    handlers = [
        Ear(stop, audio_in, spoken, setup_kwargs=ear),
        TranscriptionNotifier(
            stop, spoken, asked, setup_kwargs={"text_output_queue": events, "should_listen": listen}
        ),
        Mind(stop, asked, thought, setup_kwargs={"script": script, "cancel_scope": scope}),
        LMOutputProcessor(stop, thought, voiced, setup_kwargs=processor),
        Mouth(stop, voiced, audio_out, setup_kwargs=mouth),
    ]
    for handler in handlers:
        threading.Thread(target=handler.run, daemon=True).start()
    return PipelineUnit(
        index=index,
        service=service,
        cancel_scope=scope,
        should_listen=listen,
        response_playing=threading.Event(),
        input_queue=audio_in,
        output_queue=audio_out,
        text_output_queue=events,
        text_prompt_queue=asked,
        handlers=handlers,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--units", type=int, default=1)
    options = parser.parse_args()
    script, stop = Script(), threading.Event()
    pool = [unit(index, script, stop) for index in range(options.units)]
    app = create_app(pool, stop)

    @app.post("/script")
    def set_script(body: dict):
        script.set(body)
        return {}

    @app.post("/drop")
    async def drop():
        for taken in pool:
            if taken.session is not None:
                await taken.session.transport.close()
        return {}

    @app.get("/asked")
    def tell_asked():
        return script.asked

    try:
        uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="info")
    finally:
        stop.set()


if __name__ == "__main__":
    main()
