// @ts-check
/** Dialogs: a conversation, a new colleague, a goodbye, a line of a transcript. */

import { $, element } from "./elements.js";

/** @param {string} id @param {string} text */
function problem(id, text) {
  $(id).textContent = text;
  $(id).hidden = !text;
}

/** Show a dialog, and call `act` when its main button is pressed; it stays open with the reason where that fails.
 * @param {string} id @param {string} answer @param {() => Promise<any>} act @param {string} place for the reason */
function ask(id, answer, act, place) {
  const dialog = $(id);
  problem(place, "");
  dialog.showModal();
  const form = dialog.querySelector("form");
  form.onsubmit = (/** @type {SubmitEvent} */ event) => {
    if (/** @type {HTMLButtonElement} */ (event.submitter)?.value !== answer) return;
    event.preventDefault();
    act().then(() => dialog.close()).catch((error) => problem(place, error.message));
  };
}

/** Options for a conversation. @param {any} state @param {any} room @param {(message: any) => Promise<any>} request */
export function converse(state, room, request) {
  const settings = room?.settings ?? state.options?.settings ?? {};
  $("auto-topic").value = "";
  const goesOn = room?.messages.some((/** @type {any} */ one) => one.active !== false && (one.type === "agent" || one.type === "user"));
  $("auto-topic").placeholder = goesOn ? "Leave it empty to go on from here, or say what to argue about" : "Leave it to chance, or say what to argue about";
  $("auto-minutes").value = String(Math.round((settings.max_duration_ms ?? 300000) / 6000) / 10);
  $("auto-messages").value = String(settings.max_messages ?? 0);
  $("auto-turns").value = String(settings.min_turns ?? 0);
  $("auto-keyword").value = settings.keyword ?? "";
  $("auto-pattern").replaceChildren(...(state.options?.patterns ?? []).map((/** @type {any} */ one) =>
    new Option(one.says, one.name, false, one.name === settings.interaction_pattern)));
  const people = [...state.agents.values()].filter((agent) => agent.room_id === (room?.room_id ?? null) || agent.room_id === null);
  $("auto-people").hidden = people.length === 0;
  $("auto-agents").replaceChildren(...people.map((agent) => {
    const label = element("label");
    const box = /** @type {HTMLInputElement} */ (element("input"));
    Object.assign(box, { type: "checkbox", value: agent.agent_id, checked: agent.room_id !== null ? agent.participating !== false : people.length < 2 });
    label.append(box, element("span", "", `${agent.name} (${agent.role})`));
    return label;
  }));
  ask("auto", "start", () => {
    const chosen = [...$("auto-agents").querySelectorAll("input:checked")].map((/** @type {any} */ box) => box.value);
    const topic = $("auto-topic").value.trim();
    if (people.length && !chosen.length) return Promise.reject(new Error("Tick at least one who talks."));
    const members = room?.agents ?? [];
    const joining = chosen.filter((id) => !members.includes(id));
    const pauses = members.filter((/** @type {string} */ id) => state.agents.has(id) && (state.agents.get(id).participating !== false) !== chosen.includes(id))
      .map((/** @type {string} */ id) => request({ type: "set_participation", agent_id: id, participating: chosen.includes(id) }));
    return Promise.all(pauses).then(() => request({
      type: "startAutoMode", ...(room && { roomId: room.room_id }), ...(topic && { topic }),
      ...(joining.length && { agents: [...members, ...joining] }), keyword: $("auto-keyword").value,
      maxDurationMs: Math.round(Number($("auto-minutes").value) * 60000), maxMessages: Number($("auto-messages").value) || 0,
      minTurns: Number($("auto-turns").value) || 0, interactionPattern: $("auto-pattern").value,
    }));
  }, "auto-problem");
  $("auto-topic").focus();
  for (const field of $("auto").querySelectorAll("details input")) field.oninvalid = () => { field.closest("details").open = true; };
}

/** @param {any} state @param {any} room @param {(message: any) => Promise<any>} request */
export function spawn(state, room, request) {
  $("spawn-name").value = "";
  $("spawn-role").value = "";
  $("spawn-backend").replaceChildren(...(state.options?.backends ?? []).map((/** @type {string} */ name) =>
    new Option(name, name, false, name === state.options.default_backend)));
  const spots = places(state.office);
  $("spawn-place").replaceChildren(new Option("its own desk, through the door", ""), ...spots.map((spot) => new Option(spot.text, spot.value)));
  ask("spawn", "add", () => {
    const [x, y] = $("spawn-place").value.split(",").map(Number);
    return request({
      type: "agent_spawn_request", ...(room && { room_id: room.room_id }),
      agent_config: { name: $("spawn-name").value.trim(), role: $("spawn-role").value.trim(), cli_backend: $("spawn-backend").value,
        ...($("spawn-place").value && { initial_position: { x, y } }) },
    });
  }, "spawn-problem");
}

/** Where a newcomer may stand: in front of things that have a name. @param {any} office */
function places(office) {
  const named = ["coffee machine", "water cooler", "whiteboard", "bookshelf", "printer", "aquarium", "vending machine"];
  const found = new Map();
  for (const thing of office?.things ?? []) {
    const y = thing.y + thing.height;
    if (named.includes(thing.kind) && !found.has(thing.kind) && ".,:r".includes(office.rows[y]?.[thing.x] ?? "#")) {
      found.set(thing.kind, { text: `at the ${thing.kind}`, value: `${thing.x},${y}` });
    }
  }
  return [...found.values()];
}

/** A room of its own, with people or without. @param {any} state @param {(message: any) => Promise<any>} request */
export function newRoom(state, request) {
  $("room-name").value = "";
  const templates = state.options?.templates ?? [];
  $("room-template").replaceChildren(new Option("nobody yet", ""), ...templates.map((/** @type {any} */ one) => new Option(`${one.name}: ${one.says}`, one.name)));
  ask("room", "create", () => request({ type: "create_room", ...($("room-name").value.trim() && { name: $("room-name").value.trim() }),
    ...($("room-template").value && { template: $("room-template").value }) }), "room-problem");
}

/** @param {any} room @param {(message: any) => Promise<any>} request */
export function rename(room, request) {
  $("rename-name").value = room.name;
  ask("rename", "rename", () => request({ type: "rename_room", room_id: room.room_id, name: $("rename-name").value }), "rename-problem");
  $("rename-name").select();
}

/** Ask before something that cannot be undone. @param {string} title @param {string} text @param {string} yes
 * @param {() => Promise<any>} act */
export function confirm(title, text, yes, act) {
  $("confirm-title").textContent = title;
  $("confirm-yes").textContent = yes;
  ask("confirm", "yes", act, "confirm-problem");
  $("confirm-text").textContent = text;
}

/** Settings with effect at once. @param {any} state @param {any} room @param {(message: any) => Promise<any>} request */
export function settings(state, room, request) {
  const names = ["response_delay", "max_wait_time", "max_messages", "max_tokens", "max_cost_usd", "permission_wait", "interaction_pattern", "barge_in"];
  $("set-interaction_pattern").replaceChildren(...(state.options?.patterns ?? []).map((/** @type {any} */ one) => new Option(one.says, one.name)));
  problem("settings-problem", "");
  for (const name of names) {
    const field = $(`set-${name}`);
    if (field.type === "checkbox") field.checked = Boolean(room.settings[name]);
    else field.value = String(room.settings[name]);
    field.onchange = () => {
      if (field.type === "number" && (field.value === "" || !field.validity.valid)) {
        problem("settings-problem", `${field.labels[0].firstChild.textContent.trim()}: give a number from ${field.min || 0}${field.max ? ` to ${field.max}` : ""}.`);
        field.value = String(room.settings[name]);
        return;
      }
      const value = field.type === "checkbox" ? field.checked : field.type === "number" ? Number(field.value) : field.value;
      request({ type: "update_settings", room_id: room.room_id, [name]: value })
        .then(() => problem("settings-problem", "")).catch((error) => problem("settings-problem", error.message));
    };
  }
  $("spent").textContent = `Spent here so far: ${(room.tokens ?? 0).toLocaleString("en")} tokens${room.cost_usd ? `, $${room.cost_usd.toFixed(2)}` : ""}.`;
  $("settings").showModal();
}

/** @param {any} agent @param {(message: any) => Promise<any>} request */
export function farewell(agent, request) {
  confirm(`Remove ${agent.name}?`, "Its CLI is ended and it leaves the office. What it said stays.", "Remove",
    () => request({ type: "agent_terminate_request", agent_id: agent.agent_id }));
}

/** @param {any} message @param {(message: any) => Promise<any>} request */
export function source(message, request) {
  $("source-place").textContent = "…";
  $("source-line").textContent = "";
  $("source").showModal();
  request({ type: "get_transcript_line", message_id: message.id }).then((answer) => {
    $("source-place").textContent = `${answer.path}, byte ${answer.offset}`;
    $("source-line").textContent = pretty(answer.line);
  }).catch((error) => { $("source-place").textContent = error.message; });
}

/** @param {string} line */
function pretty(line) {
  try {
    return JSON.stringify(JSON.parse(line), null, 2);
  } catch {
    return line;
  }
}
