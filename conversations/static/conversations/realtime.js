/** One WebSocket to the server: frames in, events out, one answer to how it ended. */

/** Sound that cannot leave is stale before it arrives: it is dropped, control events never are. */
const AUDIO_BACKLOG_BYTES = 256 * 1024;
/** A line on which nothing moves for so long is dead, although nobody has said so: the network changed. */
const STUCK_MS = 8_000;
const LOST = 1006;

/**
 * @typedef {{onFrame: (frame: string) => void, onClose: (code: number) => void}} Listener
 */

/** Reports nothing more once `close` was called. */
export class Realtime {
  #socket;
  #onClose;
  #open = true;
  #backlog = { bytes: 0, at: 0 };

  /**
   * @param {{url: string, protocols: string[]}} address
   * @param {Listener} listener
   */
  constructor({ url, protocols }, { onFrame, onClose }) {
    this.#onClose = onClose;
    this.#socket = new WebSocket(url, protocols);
    this.#socket.onmessage = ({ data }) => {
      if (this.#open && typeof data === "string") onFrame(data);
    };
    this.#socket.onclose = ({ code }) => {
      if (!this.#open) return;
      this.#end(code);
    };
  }

  /**
   * @param {Record<string, unknown> & {type: string}} event
   * @returns {boolean} false when it did not leave
   */
  send(event) {
    if (this.#socket.readyState !== WebSocket.OPEN) return false;
    const sound = event.type === "input_audio_buffer.append";
    if (sound && this.#isFull()) return false;
    this.#socket.send(JSON.stringify(event));
    return true;
  }

  close() {
    this.#open = false;
    this.#socket.close(1000);
  }

  /** @returns {boolean} whether sound would only wait; gives the line up where nothing leaves at all */
  #isFull() {
    const { bufferedAmount: bytes } = this.#socket;
    const moves = bytes < this.#backlog.bytes || this.#backlog.bytes <= AUDIO_BACKLOG_BYTES;
    this.#backlog = { bytes, at: moves ? Date.now() : this.#backlog.at };
    if (bytes <= AUDIO_BACKLOG_BYTES) return false;
    if (Date.now() - this.#backlog.at > STUCK_MS && this.#open) {
      this.#socket.close();
      this.#end(LOST);
    }
    return true;
  }

  /** @param {number} code */
  #end(code) {
    this.#open = false;
    this.#onClose(code);
  }
}
