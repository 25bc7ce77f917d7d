// @ts-check
/** The document, redrawn from the state. What an agent said is only ever set as text. */

import { progress, whyEnded } from "./words.js";

/** @param {string} id @returns {any} */
export const $ = (id) => document.getElementById(id);

/** @param {string} tag @param {string} name @param {string} [text] */
function element(tag, name, text = "") {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  return made;
}

export class View {
  /** @param {(id: string) => void} select */
  constructor(select) {
    this.select = select;
    /** @type {string | null} */ this.roomId = null;
    /** @type {string | null} */ this.shownRoom = null;
    /** @type {Map<string, HTMLElement>} */ this.messages = new Map();
    /** @type {string | null} */ this.selected = null;
    $("messages").addEventListener("scroll", () => { $("latest").hidden = this.atEnd(); });
    $("latest").addEventListener("click", () => this.toEnd());
    $("rooms").addEventListener("change", (/** @type {any} */ e) => { this.roomId = e.target.value; this.select(e.target.value); });
  }

  /** The room that is shown. @param {any} state */
  room(state) {
    if (!this.roomId || !state.rooms.has(this.roomId)) this.roomId = [...state.rooms.keys()].pop() ?? null;
    return this.roomId ? state.rooms.get(this.roomId) : null;
  }

  /** @param {any} state */
  draw(state) {
    const room = this.room(state);
    this.drawRooms(state);
    this.drawPeople(state);
    this.drawMessages(state, room);
    this.drawTransport(state, room);
  }

  /** @param {any} state */
  drawRooms(state) {
    const select = $("rooms");
    select.hidden = state.rooms.size < 2;
    select.replaceChildren(...[...state.rooms.values()].map((room) => {
      const option = new Option(room.name, room.room_id, false, room.room_id === this.roomId);
      return option;
    }));
  }

  /** @param {any} state */
  drawPeople(state) {
    const list = $("people");
    $("nobody").hidden = state.agents.size > 0;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.agent : undefined;
    list.replaceChildren(...[...state.agents.values()].map((agent) => {
      const button = /** @type {HTMLButtonElement} */ (element("button", "person"));
      button.type = "button";
      button.dataset.state = agent.state;
      button.dataset.agent = agent.agent_id;
      button.ariaExpanded = String(this.selected === agent.agent_id);
      const tokens = ((agent.input_tokens ?? 0) + (agent.output_tokens ?? 0)).toLocaleString("en");
      button.append(
        element("span", "name", agent.name), element("span", "role", agent.role), element("span", "state", agent.state),
        element("span", "figures", `${agent.cli_backend}${agent.model ? ` · ${agent.model}` : ""} · ${tokens} tokens`),
        element("span", "last", agent.last_message || "Has not said anything yet."),
      );
      button.addEventListener("click", () => {
        this.selected = this.selected === agent.agent_id ? null : agent.agent_id;
        this.drawPeople(state);
      });
      const item = element("li", "");
      item.append(button);
      return item;
    }));
    if (focused) list.querySelector(`[data-agent="${CSS.escape(focused)}"]`)?.focus();
  }

  /** @param {any} state @param {any} room */
  drawMessages(state, room) {
    const list = $("messages");
    const follow = this.atEnd();
    if (this.shownRoom !== (room?.room_id ?? null)) {
      this.shownRoom = room?.room_id ?? null;
      this.messages.clear();
      list.replaceChildren();
    }
    $("topic").textContent = room?.auto?.topic ?? room?.lastTopic ?? lastTopic(room) ?? "No conversation yet";
    const wanted = new Map();
    for (const message of room?.messages ?? []) wanted.set(message.id, message);
    for (const [agentId, live] of state.live) {
      const agent = state.agents.get(agentId);
      if (live.room_id === room?.room_id && live.text && agent) {
        wanted.set(`live ${live.ask_id}`, { type: "agent", author_name: agent.name, content: live.text, live: true });
      }
    }
    for (const [id, made] of this.messages) {
      if (!wanted.has(id)) { made.remove(); this.messages.delete(id); }
    }
    for (const [id, message] of wanted) {
      const known = this.messages.get(id);
      if (known && message.live) /** @type {any} */ (known.querySelector(".words")).textContent = message.content;
      if (!known) {
        const made = drawMessage(message);
        this.messages.set(id, made);
        list.append(made);
      }
    }
    const end = $("end");
    end.hidden = !room?.end;
    end.textContent = room?.end ? whyEnded(room.end) : "";
    if (follow) this.toEnd();
  }

  /** @param {any} state @param {any} room */
  drawTransport(state, room) {
    const auto = room?.auto;
    const mayChange = state.scope === "operator";
    const toggle = $("toggle");
    toggle.textContent = auto ? "■ Stop" : "▶ Auto";
    toggle.ariaPressed = String(Boolean(auto));
    toggle.disabled = !mayChange;
    $("wish").hidden = Boolean(auto);
    $("retry").hidden = !auto?.paused || !mayChange;
    this.drawProgress(state, room);
  }

  /** @param {any} state @param {any} room */
  drawProgress(state, room) {
    $("progress").textContent = progress(room, state.agents, Date.now() / 1000);
  }

  atEnd() {
    const list = $("messages");
    return list.scrollHeight - list.scrollTop - list.clientHeight < 48;
  }

  toEnd() {
    const list = $("messages");
    list.scrollTop = list.scrollHeight;
    $("latest").hidden = true;
  }
}

/** @param {any} room */
function lastTopic(room) {
  return room?.messages.findLast((/** @type {any} */ m) => m.author === "topic")?.content;
}

/** @param {any} message */
function drawMessage(message) {
  const spoken = ["agent", "user"].includes(message.type);
  const made = element("article", `message ${message.type}${message.live ? " live" : ""}`, spoken ? "" : message.content);
  if (message.live) made.ariaHidden = "true";
  if (spoken) {
    const who = element("div", "who", message.author_name);
    if (message.at) {
      const time = new Date(message.at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      who.append(element("span", "when", time));
    }
    made.append(who, element("div", "words", message.content));
  }
  return made;
}
