/** The client on a page or in a part of one: puts the parts together. */

import { Api } from "./api.js";
import { Microphone } from "./audio/microphone.js";
import { Speaker } from "./audio/speaker.js";
import { identityOf } from "./boot.js";
import { Call } from "./call.js";
import { listDevices } from "./audio/devices.js";
import { Link } from "./link.js";
import { faceOf } from "./look.js";
import { Store } from "./model.js";
import { noticeOf } from "./notice.js";
import { recall, remember } from "./preferences.js";
import { Ratings } from "./ratings.js";
import { WebSearch } from "./search.js";
import { home } from "./server.js";
import { Suggester } from "./suggester.js";
import { say } from "./text.js";
import { Toolbook } from "./toolbook.js";
import { ActionsView } from "./view/actions.js";
import { Callers } from "./view/callers.js";
import { CaptionsView } from "./view/captions.js";
import { Composer } from "./view/composer.js";
import { find } from "./view/dom.js";
import { Hold } from "./view/hold.js";
import { copyText, KeepView } from "./view/keep.js";
import { LinesView } from "./view/lines.js";
import { Orb } from "./view/orb.js";
import { SettingsView } from "./view/settings.js";
import { SheetView } from "./view/sheet.js";
import { Stage } from "./view/stage.js";
import { SuggestionsView } from "./view/suggestions.js";
import { ToolsView } from "./view/tools.js";
import { watchSleep } from "./wake.js";
import { keepCaptions, wantsCaptions } from "./wishes.js";
import { Writing } from "./writing.js";

const TICK_MS = 500;

/**
 * What surrounds the client: how the server is reached, and who does a brain's command first.
 * @typedef {object} Host
 * @property {import("./types.js").Server} server
 * @property {(asked: import("./view/actions.js").Asked) => boolean} perform whether it is done with that
 */

/**
 * @param {import("./types.js").Boot} boot
 * @returns {Host}
 */
const ownPage = (boot) => ({ server: home(boot.csrf_cookie), perform: () => false });

/**
 * Starts a call on the elements of the page.
 * @param {import("./view/dom.js").Page} page
 * @param {import("./types.js").Boot} boot
 * @param {Host} [host] without it, the page of the server itself
 * @returns {{close: () => void}} `close` ends everything that was started: call, devices, timers, listeners
 */
export function mount(page, boot, { server, perform } = ownPage(boot)) {
  const end = new AbortController();
  const { signal } = end;
  const client = find(page, "client", HTMLElement);
  const store = new Store();
  const orb = new Orb(find(page, "ring", HTMLCanvasElement), signal);
  const api = new Api(server);
  /** @param {string} conversation */
  const address = (conversation) => server.socket(boot.realtime_path, conversation);
  const link = new Link(api, address, (event) => store.dispatch(event), boot.reasoning);
  const microphone = new Microphone(boot.worklets.capture, {
    onFrame(samples, level) {
      orb.level("in", level);
      settings.level(level);
      call.listening.take(samples);
    },
    onLost: () => void call.listening.lost(),
  });
  const speaker = new Speaker(boot.worklets.playback, find(page, "voice", HTMLAudioElement), {
    onPlaying: (playing) => store.dispatch({ type: "sound.playing", playing }),
    onProgress(level, item, content, playedMs) {
      orb.level("out", level);
      call.heard(item, content, playedMs);
      if (store.model.captions) store.dispatch({ type: "sound.heard", item, playedMs });
    },
    onFinished(item, content, playedMs) {
      call.heardAll(item, content, playedMs);
      if (store.model.captions) store.dispatch({ type: "sound.heard", item, playedMs: Infinity });
    },
    onBlocked(blocked) {
      if (blocked !== store.model.soundBlocked) store.dispatch({ type: "sound.blocked", blocked });
    },
  });
  const search = new WebSearch({
    ask: (query, signal) => api.search(query, signal),
    send: (event) => link.send(event),
    emit: (event) => store.dispatch(event),
  });
  const writing = new Writing({
    ask: (text, signal) => link.reason(text, signal),
    emit: (event) => store.dispatch(event),
  });
  const call = new Call({ store, link, microphone, speaker, search: boot.web_search ? search : null, writing });

  const intents = {
    toggleMute: () => call.listening.toggleMute(),
    stop: () => void call.stop(),
    /** @param {import("./types.js").Deed} deed */
    act: (deed) => void call.act(deed),
  };
  const stage = new Stage(page, intents, signal);
  const gestures = {
    press() {
      call.unlock();
      void call.listening.press();
    },
    hold() {
      call.unlock();
      call.listening.hold();
    },
    release: () => call.listening.release(),
    drop: () => call.listening.drop(),
  };
  const hold = new Hold(page, gestures, signal);
  const choices = {
    /** @param {import("./preferences.js").Way} way */
    way: (way) => call.listening.chooseWay(way),
    /** @param {string} id */
    input: (id) => void call.listening.chooseInput(id),
    /** @param {string} id */
    output: (id) => store.dispatch({ type: "output.chosen", id }),
    tryInput: () => void call.listening.try(),
    tryOutput: () => void speaker.test(),
    opened: () => void list(),
    closed: () => call.listening.endTry(),
  };
  const settings = new SettingsView(page, choices, speaker.canChoose, signal);
  const ratings = new Ratings(store, (turn, rating) => link.rate(turn, rating));
  const lines = new LinesView(
    page,
    {
      sendAgain: (id) => void call.sendAgain(id),
      rate: (turn, rating) => void ratings.rate(turn, rating),
      copy: async (text) => actions.tell(say((await copyText(client, text)) ? "copied" : "copy.failed")),
    },
    signal,
  );
  /** @param {string} text */
  const ask = (text) => {
    void call.type(text);
    render();
    lines.toEnd();
  };
  const composer = new Composer(page, ask, signal);
  const suggestions = new SuggestionsView(page, (text) => {
    ask(text);
    composer.focus();
  });
  const captions = new CaptionsView(
    page,
    (on) => {
      keepCaptions(() => localStorage, on);
      store.dispatch({ type: "captions.switched", on });
    },
    signal,
  );
  const keep = new KeepView(
    page,
    () => store.model,
    (key) => actions.tell(say(key)),
    signal,
  );
  const sheet = new SheetView(page, (nonce, answer) => call.confirm(nonce, answer), signal);
  const actions = new ActionsView(
    page,
    (asked, outcome) => call.reportAction(asked, outcome),
    (path) => location.assign(path),
    signal,
  );
  const callers = new Callers(page, boot, (phone) => void call.switchCaller(phone), signal);

  let scheduled = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let tick;

  function render() {
    scheduled = false;
    if (signal.aborted) return;
    const now = Date.now();
    const { model } = store;
    stage.render(model, now);
    hold.render(model);
    settings.render(model);
    composer.render(model);
    suggestions.render(model);
    captions.render(model);
    keep.render(model);
    callers.render(model);
    lines.render(model, now);
    sheet.render(model, now);
    orb.show(faceOf(model));
    clearTimeout(tick);
    if (model.call.turn.tools.length || model.sheets.length || noticeOf(model)?.until != null) tick = setTimeout(render, TICK_MS);
  }

  /** Once a frame; a hidden page draws no frames, and need not be drawn until it is seen. */
  function renderSoon() {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(render);
  }

  /** What is there, and whether what was chosen is. */
  async function list() {
    const found = await listDevices();
    if (signal.aborted) return;
    store.dispatch({ type: "devices.listed", ...found });
    const { output } = store.model.chosen;
    const named = found.outputs.some((device) => device.label);
    if (output && named && !found.outputs.some(({ id }) => id === output)) {
      await speaker.choose("");
      store.dispatch({ type: "remarked", text: "devices.output_gone", detail: "", deed: "dismiss" });
    } else await speaker.choose(output);
  }

  store.watch((event) => call.react(event));
  store.watch((event) => {
    if (event.type === "microphone.opened" || event.type === "microphone.rested") void list();
    if (event.type === "output.chosen") void speaker.choose(event.id);
    if (event.type === "way.chosen" || event.type === "input.chosen" || event.type === "output.chosen") {
      remember(() => localStorage, { way: store.model.way, ...store.model.chosen });
    }
  });
  store.watch((event) => {
    if (event.type !== "action.asked") return;
    if (perform(event)) call.reportAction(event, "done");
    else actions.perform(event);
  });
  const suggester = new Suggester(
    (conversation) => api.suggestions(conversation),
    (event) => store.dispatch(event),
  );
  store.watch((event) => void suggester.notice(event));
  if (boot.mode === "apipilot") {
    const view = new ToolsView(page);
    const toolbook = new Toolbook(
      () => api.tools(),
      (tools) => view.show(tools),
      sessionStorage,
    );
    store.watch((event) => void toolbook.notice(event));
    store.watch((event) => {
      if (event.type === "suggested") view.label(event.labels);
    });
  }
  store.watch((event) => {
    renderSoon();
    // The demo has somebody to begin with; elsewhere a person needs a link.
    const nobody = event.type === "link.failed" && event.problem.code === "login_required";
    const first = nobody ? callers.takeFirst() : "";
    if (first) void link.start({ phone: first }, true);
    if (event.type === "conversation.begun") callers.meet(event.conversation.caller?.name ?? "");
  });

  const seen = () => {
    if (document.hidden) return;
    link.hurry();
    wakeDevices();
  };
  const wakeDevices = () => {
    microphone.wake();
    if (store.model.call.turn.playing) void speaker.unlock();
  };
  const unblock = () => {
    if (store.model.soundBlocked) void speaker.unlock();
  };
  addEventListener("online", () => link.hurry(), { signal });
  addEventListener("offline", () => link.cut(), { signal });
  document.addEventListener("visibilitychange", seen, { signal });
  navigator.mediaDevices?.addEventListener("devicechange", () => void list(), { signal });
  const woke = () => {
    link.renew();
    wakeDevices();
  };
  watchSleep(woke, signal);
  for (const press of ["pointerdown", "keydown"]) document.addEventListener(press, unblock, { signal });

  store.dispatch({ type: "preferences.recalled", ...recall(() => localStorage) });
  if (wantsCaptions(() => localStorage)) store.dispatch({ type: "captions.switched", on: true });
  render();
  void list();
  void link.start(identityOf(boot));

  return {
    close() {
      end.abort();
      clearTimeout(tick);
      store.close();
      link.close();
      call.close();
      sheet.close();
    },
  };
}
