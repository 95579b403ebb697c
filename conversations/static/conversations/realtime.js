/** One WebSocket to the server: frames in, events out, one answer to how it ended. */

/** Sound that cannot leave is stale before it arrives: it is dropped, control events never are. */
const AUDIO_BACKLOG_BYTES = 256 * 1024;

/**
 * @typedef {{onFrame: (frame: string) => void, onClose: (code: number) => void}} Listener
 */

/** Reports nothing more once `close` was called. */
export class Realtime {
  #socket;
  #open = true;

  /**
   * @param {string} url
   * @param {Listener} listener
   */
  constructor(url, { onFrame, onClose }) {
    this.#socket = new WebSocket(url);
    this.#socket.onmessage = ({ data }) => {
      if (this.#open && typeof data === "string") onFrame(data);
    };
    this.#socket.onclose = ({ code }) => {
      if (!this.#open) return;
      this.#open = false;
      onClose(code);
    };
  }

  /**
   * @param {Record<string, unknown> & {type: string}} event
   * @returns {boolean} false when it did not leave
   */
  send(event) {
    if (this.#socket.readyState !== WebSocket.OPEN) return false;
    const sound = event.type === "input_audio_buffer.append";
    if (sound && this.#socket.bufferedAmount > AUDIO_BACKLOG_BYTES) return false;
    this.#socket.send(JSON.stringify(event));
    return true;
  }

  close() {
    this.#open = false;
    this.#socket.close(1000);
  }
}
