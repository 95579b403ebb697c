/** One socket: sound that cannot leave is dropped, and a line on which nothing moves is given up. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { Realtime } from "../static/conversations/realtime.js";

mock.timers.enable({ apis: ["Date"] });

class Socket {
  static OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  sent = [];
  closed = [];
  send(frame) {
    this.sent.push(JSON.parse(frame).type);
  }
  close(code) {
    this.closed.push(code);
  }
}

function line() {
  const codes = [];
  let socket;
  globalThis.WebSocket = class extends Socket {
    constructor() {
      super();
      socket = this;
    }
  };
  const realtime = new Realtime("ws://vocero.test", { onFrame() {}, onClose: (code) => codes.push(code) });
  const speak = (seconds, drains = 0) => {
    for (let i = 0; i < seconds; i += 1) {
      mock.timers.tick(1000);
      socket.bufferedAmount -= drains;
      realtime.send({ type: "input_audio_buffer.append" });
    }
  };
  return { realtime, socket, codes, speak };
}

const FULL = 300 * 1024;

test("sound that cannot leave is dropped, other events are not", () => {
  const { realtime, socket } = line();
  socket.bufferedAmount = FULL;
  assert.equal(realtime.send({ type: "input_audio_buffer.append" }), false);
  assert.equal(realtime.send({ type: "response.cancel" }), true);
  assert.deepEqual(socket.sent, ["response.cancel"]);
});

test("a line on which nothing moves for eight seconds is lost, once", () => {
  const { socket, codes, speak } = line();
  speak(60);
  socket.bufferedAmount = FULL;
  speak(9);
  assert.deepEqual(codes, []);
  speak(10);
  assert.deepEqual([codes, socket.closed.length], [[1006], 1]);
});

test("a slow line that moves is kept", () => {
  const { socket, codes, speak } = line();
  socket.bufferedAmount = FULL + 30 * 100;
  speak(30, 100);
  assert.deepEqual(codes, []);
});
