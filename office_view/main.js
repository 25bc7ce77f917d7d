// @ts-check
import { Connection } from "./connection.js";
import { applied, empty, toast, welcomed } from "./state.js";
import { $, View } from "./view.js";

let state = empty();
let known = false;
let due = false;
const view = new View(() => draw());

/** One redraw a frame, however much has happened. */
function draw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; view.draw(state); });
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

const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? sessionStorage.getItem("token") ?? "";
if (token) sessionStorage.setItem("token", token);

const connection = new Connection({
  token,
  since: () => (known ? state.seq : undefined),
  welcome(welcome) { state = welcomed(state, welcome); known = true; draw(); },
  event(event) { say(toast(state, event)); applied(state, event); draw(); },
  status(status) {
    $("connection").textContent = status;
    $("connection").dataset.state = status;
    $("signed-out").hidden = status !== "signed out";
  },
});

/** @param {any} message */
function ask(message) {
  connection.request(message).catch((error) => say(error.message));
}

$("auto").addEventListener("submit", (/** @type {Event} */ event) => {
  event.preventDefault();
  const room = view.room(state);
  if (room?.auto) return ask({ type: "stopAutoMode", roomId: room.room_id });
  const topic = $("wish").value.trim();
  $("wish").value = "";
  ask({ type: "startAutoMode", ...(room && { roomId: room.room_id }), ...(topic && { topic }) });
});
$("retry").addEventListener("click", () => ask({ type: "resumeAutoMode", roomId: view.room(state)?.room_id }));
document.addEventListener("keydown", (event) => {
  const room = view.room(state);
  if (event.key === "Escape" && room?.auto) ask({ type: "stopAutoMode", roomId: room.room_id });
});
addEventListener("hashchange", () => location.reload());
setInterval(() => { if (!document.hidden) view.drawProgress(state, view.room(state)); }, 500);
