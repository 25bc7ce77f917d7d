// @ts-check
/** Puts everything together: the socket, what is known, the office, the conversation. */

import { Connection } from "./connection.js";
import { OfficeView } from "./office/view.js";
import { Chat, topicOf } from "./panels/chat.js";
import { Composer } from "./panels/composer.js";
import * as dialogs from "./panels/dialogs.js";
import { $, button, element } from "./panels/elements.js";
import { Inspector } from "./panels/inspector.js";
import { Members } from "./panels/members.js";
import { Pending } from "./panels/pending.js";
import { Permissions } from "./panels/permissions.js";
import { Search } from "./panels/search.js";
import * as sound from "./sound.js";
import { AROUND, applied, around, empty, remembered, toast, welcomed } from "./state.js";
import { activity, markdown, progress, whyEnded, working } from "./words.js";

export let state = empty();
let known = false;
/** The server's clock, as seen from ours. */
let ahead = 0;
const now = () => Date.now() / 1000 + ahead;
/** @type {string | null} */ let roomId = sessionStorage.getItem("room");
/** @type {string | null} */ let selected = null;
/** The banners that were closed: rooms, each with the end that was told. @type {Record<string, number>} */
const dismissed = JSON.parse(sessionStorage.getItem("dismissed") ?? "{}");
/** A room was asked for here, and is shown when it is there. */
let awaited = false;
/** Whom the pointer is on, and where. @type {{id: string | null, x: number, y: number}} */
let pointed = { id: null, x: 0, y: 0 };

// -- parts -----------------------------------------------------------------------------------------------------------

export const office = new OfficeView($("canvas"), {
  now, state: () => state, select, hover,
  open(agent, message) {
    if (state.agents.get(agent)?.room_id) show(state.agents.get(agent).room_id);
    select(null);
    expand(true);
    draw();
    requestAnimationFrame(() => chat.mark(message));
  },
});
const chat = new Chat({ source: (message) => dialogs.source(message, request),
  toggle: (message, active) => ask({ type: "set_message_active", message_id: message.id, active }), older, redraw: () => draw(), retry });
const members = new Members({ ask, remove: (agent) => dialogs.farewell(agent, request) });
const pending = new Pending({ ask });
const composer = new Composer({ request, say, connected: () => $("connection").dataset.state === "connected" });
new Search({ request, open(found) {
  if (found.room_id && !state.rooms.has(found.room_id)) {  // as it was when it was closed, to read only
    closed = { ...around(state), room_id: found.room_id, name: `${found.room ?? found.room_id} (closed)`, messages: [], oldest: undefined };
  }
  show(found.room_id || AROUND);
  requestAnimationFrame(() => requestAnimationFrame(() => bring(found.message_id, 20)));
} });
const permissions = new Permissions({ request, say, redraw: () => draw() });
const inspector = new Inspector({ request, say, permissions, close: () => select(null), remove: (agent) => dialogs.farewell(agent, request) });
inspector.redraw = () => draw();

const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? sessionStorage.getItem("token") ?? "";
if (token) sessionStorage.setItem("token", token);
const connection = new Connection({
  token,
  since: () => (known ? state.seq : undefined),
  welcome(welcome) {
    ahead = welcome.time - Date.now() / 1000;
    if (welcome.snapshot) office.scene.words.clear();
    state = welcomed(state, welcome);
    known = true;
    if (selected && !state.agents.has(selected)) select(null);
    draw();
    office.changed(true);
  },
  event(event) {
    say(toast(state, event));
    applied(state, event);
    if (event.type === "room_created" && awaited) { show(event.room_id); awaited = false; $("write").focus(); }
    if (event.type === "agent_removed" && event.agent_id === selected) select(null);
    hear(event);
    draw();
    office.changed();
  },
  status(status) {
    $("connection").textContent = status;
    $("connection").dataset.state = status;
    $("signed-out").hidden = status !== "signed out";
    $("main").classList.toggle("away", known && status !== "connected");
    if (known) draw();
  },
});

/** @param {any} message @returns {Promise<any>} */
function request(message) { return connection.request(message); }

let fetching = false;
/** What was said before, when somebody scrolls up to it; the place that is read stays where it is. */
function older() {
  const here = room();
  if (!here || fetching || here.oldest === 0 || !here.messages.length) return;
  fetching = true;
  request({ type: "get_history", room_id: here.room_id, limit: 200, ...(here.oldest && { before: here.oldest }) }).then((answer) => {
    const list = $("messages");
    const from = list.scrollHeight - list.scrollTop;
    remembered(here, answer.messages);
    draw();
    requestAnimationFrame(() => requestAnimationFrame(() => {
      list.scrollTop = list.scrollHeight - from;
      fetching = false;
      if (list.scrollTop < 300) older();
    }));
  }).catch(() => { fetching = false; });
}

/** Show a message, and fetch older ones until it is there. @param {string} id @param {number} tries */
async function bring(id, tries) {
  const here = room();
  for (; tries && here && here.oldest !== 0 && !here.messages.some((/** @type {any} */ one) => one.id === id); tries--) {
    const answer = await request({ type: "get_history", room_id: here.room_id, limit: 500, ...(here.oldest && { before: here.oldest }) });
    remembered(here, answer.messages);
  }
  chat.follow = false;
  draw();
  requestAnimationFrame(() => requestAnimationFrame(() => chat.mark(id)));
}

/** @param {any} message */
function ask(message) { request(message).catch((error) => say(error.message)); }

// -- what is shown ---------------------------------------------------------------------------------------------------

/** @param {string} id */
function show(id) {
  roomId = id;
  sessionStorage.setItem("room", id);
  draw();
}

function room() {
  if (roomId === AROUND) return listening();
  if (closed && roomId === closed.room_id && !state.rooms.has(roomId)) return closed;
  if (!roomId || !state.rooms.has(roomId)) {
    const rooms = [...state.rooms.values()];
    const own = rooms.filter((one) => !Object.keys(one.guests ?? {}).length);  // two who get together are not in the way
    roomId = (own.findLast((one) => one.auto) ?? own.at(-1) ?? rooms.at(-1))?.room_id ?? null;
  }
  return roomId ? state.rooms.get(roomId) : null;
}

/** A room that is closed, while it is read. @type {any} */ let closed = null;
/** @type {{talk: any, room: any}} */ let passing = { talk: null, room: null };
/** What is said outside of rooms, while nothing is. */
function listening() {
  if (passing.talk !== state.talk) passing = { talk: state.talk, room: around(state) };
  return passing.room;
}

/** The ring of the keyboard goes with whom it is on. */
office.onDrawn = () => {
  const at = document.activeElement;
  if (!(at instanceof HTMLElement) || !at.dataset.agent) return;
  const box = office.scene.hits.find((hit) => hit.agent === at.dataset.agent);
  if (box) Object.assign(at.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` });
};

let due = false;
/** One redraw a frame, however much has happened. */
function draw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    const here = room();
    office.scene.topic = topicOf(here) ?? "";
    drawRooms();
    drawPeople();
    drawTransport(here);
    drawBanner(here);
    members.draw(state, here);
    chat.draw(state, here);
    pending.draw(state, here);
    composer.draw(state, here);
    inspector.draw(state, now());
    permissions.draw(state, now(), mayDecide());
    if (pointed.id) hover(pointed.id, pointed.x, pointed.y);
  });
}

function drawRooms() {
  const select = $("rooms");
  const rooms = [...state.rooms.values()].map((one) => ({ id: one.room_id, text: `${one.name}${happens(one)}` }));
  if (state.talk.length) rooms.push({ id: AROUND, text: "Around the office" });
  if (room() === closed && closed) rooms.push({ id: closed.room_id, text: closed.name });
  select.hidden = rooms.length < 2;
  const wanted = JSON.stringify([rooms, roomId]);
  if (select.dataset.shown === wanted) return;
  select.dataset.shown = wanted;
  select.replaceChildren(...rooms.map((one) => new Option(one.text, one.id, false, one.id === roomId)));
}

/** What goes on in a room, for the list. @param {any} one */
function happens(one) {
  if (one.auto) return one.auto.paused ? " · paused" : " · talking";
  return one.pending.length ? ` · ${one.pending.length} pending` : "";
}

/** Everybody as a button, for the keyboard and for those who do not see the picture. */
function drawPeople() {
  const list = $("people");
  const agents = [...state.agents.values()];
  $("empty").hidden = !known || agents.length > 0 || state.scope !== "operator" || Boolean(room()?.auto);
  const had = new Map([...list.querySelectorAll("button")].map((one) => [one.dataset.agent, one]));
  for (const agent of agents) {
    let one = had.get(agent.agent_id);
    had.delete(agent.agent_id);
    if (!one) {
      one = button("", () => {
        select(agent.agent_id);
        requestAnimationFrame(() => requestAnimationFrame(() => /** @type {HTMLElement | null} */ ($("inspector").querySelector("button"))?.focus()));
      });
      one.dataset.agent = agent.agent_id;
      one.addEventListener("focus", () => { office.hover(agent.agent_id); office.show(agent.agent_id); });
      one.addEventListener("blur", () => office.hover(null));
      const item = element("li");
      item.append(one);
      list.append(item);
    }
    const label = `${agent.name}, ${agent.role}, ${agent.state}${agent.permissions?.length ? ", asks for a permission" : ""}`;
    if (one.ariaLabel !== label) one.ariaLabel = label;
    one.ariaPressed = String(selected === agent.agent_id);
    one.dataset.state = agent.state;
  }
  for (const gone of had.values()) gone.parentElement?.remove();
}

function mayDecide() { return state.scope === "operator" && $("connection").dataset.state === "connected"; }

/** @param {any} here */
function drawTransport(here) {
  const may = mayDecide();
  const toggle = $("toggle");
  const text = busy(here) ? "■ Stop" : "▶ Auto";
  if (toggle.textContent !== text) toggle.textContent = text;
  toggle.disabled = !may;
  $("add").disabled = $("room-open").disabled = !may;
  for (const id of ["settings-open", "rename-open", "anew-open", "close-open"]) $(id).disabled = !may || !here || here.room_id === AROUND;
  $("life").disabled = !may || !state.options?.life?.idle_seconds;
  if ($("life").checked !== state.decides) $("life").checked = state.decides;
  $("export-open").disabled = !here?.messages.length;
  $("outcome-open").disabled = !here?.outcome && (!may || Boolean(here?.auto || here?.concluding));
  const waits = here?.auto?.paused === "rate_limit" && here.auto.retryAt;
  $("retry").hidden = !(here?.auto?.paused || (here && !here.auto && here.failed?.length)) || !may;
  if ($("retry").textContent !== (waits ? "Retry now" : "Retry")) $("retry").textContent = waits ? "Retry now" : "Retry";
  $("wait-cancel").hidden = !waits || !may;
  drawProgress(here);
}

/** @param {any} here */
function drawProgress(here) {
  const online = $("connection").dataset.state === "connected";
  const text = online ? progress(here, state.agents, now()) : "no connection";
  const em = online ? working(here, state.agents) : "";
  if ($("progress").textContent !== text) $("progress").textContent = text;
  if ($("working").textContent !== (text && em ? ` · ${em}` : em)) $("working").textContent = text && em ? ` · ${em}` : em;
  const auto = here?.auto;
  $("ring").hidden = !(auto?.paused && auto.retryAt);
  if (!$("ring").hidden) {
    const left = Math.max(0, auto.retryAt - now()) / Math.max(1, auto.retryAt - (auto.pausedAt ?? auto.retryAt - 60));
    $("ring").style.setProperty("--left", String(Math.min(1, left)));
  }
}

/** Whether there is something to stop. @param {any} here */
function busy(here) {
  return Boolean(here && (here.auto || here.agents.some((/** @type {string} */ id) => state.agents.get(id)?.asked)));
}

/** @param {any} here */
function drawBanner(here) {
  const end = here?.end;
  const outcome = here?.outcome?.content ?? "";
  $("banner").hidden = !(end || outcome) || here.auto || dismissed[here.room_id] === told(here);
  const text = end ? whyEnded(end, state.agents) : outcome ? "What came of it" : "";
  if ($("why").textContent !== text) $("why").textContent = text;
  const may = state.scope === "operator";
  $("anew").hidden = !may || end?.reason !== "context_limit";
  $("again").hidden = !may || !end || end.reason === "context_limit";
  $("outcome").hidden = !outcome;
  if ($("outcome").textContent !== outcome) $("outcome").textContent = outcome;
  $("conclude").hidden = !may || Boolean(outcome);
  $("conclude").disabled = Boolean(here?.concluding);
}

/** What a banner says, as a number. @param {any} here */
function told(here) { return (here.end?.seq ?? 0) + (here.outcome ? 0.5 : 0); }

// -- doing -----------------------------------------------------------------------------------------------------------

/** @param {string | null} id */
function select(id) {
  selected = id && state.agents.has(id) ? id : null;
  inspector.select(selected);
  office.select(selected);
  if (selected) hover(null, 0, 0);
  if (selected) expand(true);
  for (const part of $("panel").children) part.inert = Boolean(selected) && part.id !== "inspector";
  draw();
}

/** @param {string | null} id @param {number} x @param {number} y */
function hover(id, x, y) {
  pointed = { id, x, y };
  const card = $("hover");
  const agent = id && id !== selected ? state.agents.get(id) : null;
  card.hidden = !agent;
  if (!agent) return;
  card.replaceChildren(element("div", "name", `${agent.name}, ${agent.role}`), element("div", "soft", activity(agent)),
    element("div", "last", (agent.last_message || "Has not said anything yet.").slice(0, 400)));
  const box = card.parentElement.getBoundingClientRect();
  card.style.left = `${Math.max(8, Math.min(box.width - card.offsetWidth - 8, x + 16))}px`;
  card.style.top = `${Math.max(8, Math.min(box.height - card.offsetHeight - 8, y + 16))}px`;
}

/** @param {any} event */
function hear(event) {
  if (!$("sounds").checked) return;
  if (event.type === "permission_asked") sound.asks();
  if (event.type === "agent_state_update" && event.state === "speaking") sound.speaks();
  if (event.type === "autoModeEnded") sound.ends();
}

let toastTimer = 0;
/** @param {string} text */
function say(text) {
  if (!text) return;
  $("toast").textContent = text;
  $("toast").hidden = false;
  clearTimeout(toastTimer);
  toastTimer = window.setTimeout(() => { $("toast").hidden = true; }, 6000);
}

/** @param {boolean} on */
function expand(on) {
  $("main").classList.toggle("collapsed", !on);
  $("expand").hidden = on;
}

function begin() {
  if (roomId === AROUND) roomId = null;
  if (room()?.pending.length) say("There are answers that wait: take or dismiss them first.");
  else dialogs.converse(state, room(), request);
}
function retry() { ask({ type: "retry_turn", room_id: room()?.room_id }); }
const stop = () => ask({ type: "stopAutoMode", roomId: room()?.room_id });

$("toggle").addEventListener("click", () => (busy(room()) ? stop() : begin()));
$("empty-start").addEventListener("click", begin);
$("retry").addEventListener("click", retry);
$("wait-cancel").addEventListener("click", () => ask({ type: "cancel_rate_limit_wait", room_id: room()?.room_id }));
$("again").addEventListener("click", () => {
  const here = room();
  ask({ type: "startAutoMode", roomId: here.room_id, ...(topicOf(here) && { topic: topicOf(here) }) });
});
const conclude = () => ask({ type: "request_outcome", room_id: room()?.room_id });
$("conclude").addEventListener("click", conclude);
/** What the menu offers, each with what it does. @type {Record<string, () => void>} */
const MENU = {
  "outcome-open": () => {
    delete dismissed[room().room_id];
    if (!room().outcome) conclude();
  },
  "export-open": save,
  "room-open": () => dialogs.newRoom(state, (message) => { awaited = true; return request(message).catch((error) => { awaited = false; throw error; }); }),
  "rename-open": () => dialogs.rename(room(), request),
  "anew-open": anew,
  "close-open": () => dialogs.confirm(`Close ${room().name}?`, "Its agents are ended and leave the office. What was said stays in the history.", "Close",
    () => request({ type: "close_room", room_id: room().room_id })),
  add: () => dialogs.spawn(state, room(), request),
  "settings-open": () => dialogs.settings(state, room(), request),
  "help-open": () => $("help").showModal(),
};
for (const [id, act] of Object.entries(MENU)) $(id).addEventListener("click", () => { $("menu").open = false; act(); draw(); });

/** D12: the same people, with fresh sessions. */
function anew() {
  const here = room();
  dialogs.confirm("Start a new conversation?", "The same people begin anew. What was said stays to be read and does not count any more.", "Start",
    () => request({ type: "new_conversation", room_id: here.room_id }).then(() => { setTimeout(begin); }));
}
$("anew").addEventListener("click", anew);

/** All of it, also what was never scrolled to. */
async function save() {
  const here = room();
  while (here.oldest !== 0) {
    const answer = await request({ type: "get_history", room_id: here.room_id, limit: 1000, ...(here.oldest && { before: here.oldest }) });
    remembered(here, answer.messages);
  }
  draw();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([markdown(here, state.agents)], { type: "text/markdown" }));
  link.download = `${here.room_id}.md`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
$("export").addEventListener("click", save);
$("banner-close").addEventListener("click", () => {
  dismissed[room().room_id] = told(room());
  sessionStorage.setItem("dismissed", JSON.stringify(dismissed));
  draw();
});
$("rooms").addEventListener("change", (/** @type {any} */ event) => show(event.target.value));
$("finish").addEventListener("click", () => ask({ type: "set_mode", room_id: room()?.room_id, mode: "manual" }));
$("zoom-in").addEventListener("click", () => office.zoom(1));
$("zoom-out").addEventListener("click", () => office.zoom(-1));
$("zoom-fit").addEventListener("click", () => office.fit());
$("collapse").addEventListener("click", () => expand(false));
$("expand").addEventListener("click", () => expand(true));
$("sheet").addEventListener("click", () => {
  const pulled = $("main").classList.toggle("pulled");
  $("sheet").ariaExpanded = String(pulled);
});
document.addEventListener("click", (event) => {
  if (event.target instanceof Node && !$("menu").contains(event.target)) $("menu").open = false;
});
/** Rapid switching is one switch. */
let switched = -Infinity;
document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  if (event.key.toLowerCase() === "m" && (event.ctrlKey || event.metaKey) && room() && state.scope === "operator") {
    event.preventDefault();
    if (event.repeat || event.timeStamp - switched < 500) return;
    switched = event.timeStamp;
    ask({ type: "set_mode", room_id: room().room_id, mode: room().auto ? "manual" : "auto" });
  }
  if (event.key !== "Escape") return;
  if ($("menu").open) $("menu").open = false;
  else if (selected) select(null);
  else if (busy(room()) && state.scope === "operator") stop();
});
addEventListener("hashchange", () => location.reload());
setInterval(() => { if (!document.hidden) { drawProgress(room()); permissions.tick(now()); if (selected) draw(); } }, 500);

// -- what the reader has chosen --------------------------------------------------------------------------------------

/** @param {string} name @param {string} otherwise */
const chosen = (name, otherwise) => localStorage.getItem(`office.${name}`) ?? otherwise;
/** @param {string} name @param {string} value */
const choose = (name, value) => localStorage.setItem(`office.${name}`, value);

const THEMES = /** @type {Record<string, [string, string]>} */ ({ system: ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"] });
/** @param {string} name */
function theme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = THEMES[name][0];
  $("theme").ariaLabel = `Theme: ${THEMES[name][1]}`;
  choose("theme", name);
}
theme(chosen("theme", "system") in THEMES ? chosen("theme", "system") : "system");
$("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES);
  theme(names[(names.indexOf(document.documentElement.dataset.theme ?? "system") + 1) % names.length]);
});

$("life").addEventListener("change", () => ask({ type: "set_decision_loop", on: $("life").checked }));
const small = matchMedia("(max-width: 1240px)");  // all of the office would be too small to see a face
$("follow").checked = chosen("follow", String(small.matches)) === "true";
office.onFollow = (/** @type {boolean} */ on) => { $("follow").checked = on; };
office.setFollow($("follow").checked);
$("follow").addEventListener("change", () => { office.setFollow($("follow").checked); choose("follow", String($("follow").checked)); });
$("sounds").checked = chosen("sounds", "false") === "true";
$("sounds").addEventListener("change", () => { choose("sounds", String($("sounds").checked)); if ($("sounds").checked) sound.speaks(); });

/** @param {number} pixels */
function widen(pixels) {
  const width = Math.max(280, pixels);
  document.documentElement.style.setProperty("--panel-width", `${width}px`);
  $("divider").ariaValueNow = String(width);
}
if (chosen("width", "")) widen(Number(chosen("width", "380")));
$("divider").addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
  const divider = $("divider");
  divider.setPointerCapture(event.pointerId);
  divider.onpointermove = (/** @type {PointerEvent} */ move) => {
    widen(Math.min(innerWidth - 360, innerWidth - move.clientX - 3));
    choose("width", String($("panel").offsetWidth));
  };
  divider.onpointerup = divider.onpointercancel = () => { divider.onpointermove = null; };
});
$("divider").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
  const step = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
  if (step) { widen($("panel").offsetWidth + step); choose("width", String($("panel").offsetWidth)); }
});
