// @ts-check
/** The conversation as it runs. */

import { AROUND, unheard } from "../state.js";
import { $, avatar, button, element, words } from "./elements.js";

export class Chat {
  /** @param {{source: (message: any) => void, toggle: (message: any, active: boolean) => void,
   *   older: () => void, redraw: () => void, retry: () => void}} use */
  constructor(use) {
    this.use = use;
    /** @type {string | null} */ this.shownRoom = null;
    /** @type {Map<string, HTMLElement>} */ this.messages = new Map();
    /** @type {Map<string, HTMLElement>} */ this.live = new Map();
    this.drawn = "";
    /** @type {any[] | undefined} */ this.list = undefined;
    /** The newest words are kept in view until the reader scrolls up from them. */
    this.follow = true;
    this.scrolled = 0;
    this.height = 0;
    $("messages").addEventListener("scroll", () => {
      const { scrollTop, clientHeight } = $("messages");
      if (this.atEnd()) this.follow = true;
      else if (scrollTop < this.scrolled && clientHeight === this.height) this.follow = false;  // not moved by a change of size
      this.scrolled = scrollTop;
      this.height = clientHeight;
      $("latest").hidden = this.follow || this.atEnd();
      if (scrollTop < 300) this.use.older();
    });
    $("whose").addEventListener("change", () => this.use.redraw());
    $("latest").addEventListener("click", () => this.toEnd());
  }

  /** @param {any} state @param {any} room */
  draw(state, room) {
    const list = $("messages");
    if (this.shownRoom !== (room?.room_id ?? null)) {
      this.shownRoom = room?.room_id ?? null;
      this.messages.clear();
      this.live.clear();
      this.follow = true;
      list.replaceChildren();
    }
    const topic = topicOf(room) || (room?.agents.length || room?.room_id === AROUND ? room.name : "No conversation yet");
    if ($("topic").textContent !== topic) $("topic").textContent = $("topic").title = topic;
    const view = this.whose(state, room);
    const word = JSON.stringify([room?.messages.length, view, state.scope, room?.heard?.[view], room?.failed, room?.auto?.paused]);
    if (word !== this.drawn || room?.messages !== this.list) this.drawAll(state, room, view);
    this.drawn = word;
    this.list = room?.messages;
    this.drawLive(state, room);
    if (this.follow) this.toEnd();
  }

  /** Every message; those that are known stay as they are. @param {any} state @param {any} room @param {string} view */
  drawAll(state, room, view) {
    const list = $("messages");
    const wanted = new Map((room?.messages ?? []).map((/** @type {any} */ message) => [message.id, message]));
    for (const [id, made] of this.messages) {
      if (!wanted.has(id) && !id.startsWith("live ")) { made.remove(); this.messages.delete(id); }
    }
    const missing = view ? unheard(room, view) : new Set();
    const retry = state.scope === "operator" && (room?.auto?.paused ? room.auto.paused !== "nobody" : room?.failed?.length);
    const last = room?.messages.findLast((/** @type {any} */ one) => one.type === "error")?.id;
    /** @type {Element | null} */ let next = list.firstElementChild;
    for (const [id, message] of wanted) {
      let made = this.messages.get(id);
      if (!made) {
        made = this.message(message);
        this.messages.set(id, made);
        list.insertBefore(made, next);
      } else if (made === next) {
        next = next.nextElementSibling;
      }
      this.mode(made, message, state.scope === "operator");
      made.classList.toggle("unheard", missing.has(id));
      if (message.type === "error") this.card(made, retry && id === last);
    }
  }

  /** A failure has its way on beside it. @param {HTMLElement} made @param {boolean} retry */
  card(made, retry) {
    const known = made.querySelector("button");
    if (retry && !known) made.append(button("Retry", () => this.use.retry(), "again"));
    if (!retry) known?.remove();
  }

  /** What is being said right now. @param {any} state @param {any} room */
  drawLive(state, room) {
    const wanted = new Map();
    for (const id of room?.auto ? room.agents : []) {
      const agent = state.agents.get(id);
      const said = agent?.said;
      if (said?.text && !said.messageId && !said.over) wanted.set(`live ${said.id}`, { type: "agent", author_name: agent.name, content: said.text, live: true });
    }
    for (const [id, made] of this.live) if (!wanted.has(id)) { made.remove(); this.live.delete(id); this.messages.delete(id); }
    for (const [id, message] of wanted) {
      let made = this.live.get(id);
      if (!made) {
        made = this.message(message);
        this.live.set(id, made);
        this.messages.set(id, made);
        $("messages").append(made);
      } else {
        words(/** @type {HTMLElement} */ (made.querySelector(".words")), message.content);
      }
    }
  }

  /** Whose view is shown: only what one agent has been sent is not faded. @param {any} state @param {any} room */
  whose(state, room) {
    const select = $("whose");
    const people = (room?.agents ?? []).map((/** @type {string} */ id) => state.agents.get(id)).filter(Boolean);
    select.hidden = !people.length;
    const word = people.map((/** @type {any} */ one) => one.agent_id + one.name).join();
    if (select.dataset.shown !== word) {
      const before = select.value;
      select.dataset.shown = word;
      select.replaceChildren(new Option("Show all", ""), ...people.map((/** @type {any} */ one) => new Option(`What ${one.name} heard`, one.agent_id, false, one.agent_id === before)));
    }
    return select.value;
  }

  /** @param {any} message */
  message(message) {
    const spoken = message.type === "agent" || message.type === "user";
    const topic = message.author === "topic" ? " topic" : "";
    const made = element("article", `message ${message.type}${topic}${message.live ? " live" : ""}`, spoken ? "" : message.content);
    if (message.live) made.ariaHidden = "true";
    if (!spoken) return made;
    const who = element("div", "who");
    if (message.type === "agent") who.append(avatar(message.author_name));
    if (!message.live && !message.passing) {
      const tick = Object.assign(document.createElement("input"), { type: "checkbox", className: "tick", checked: message.active !== false });
      tick.ariaLabel = `This message by ${message.author_name} counts`;
      tick.addEventListener("change", () => this.use.toggle(message, tick.checked));
      who.append(tick);
    }
    who.append(element("span", "", message.author_name));
    if (message.at) {
      who.append(element("span", "when", new Date(message.at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })));
    }
    if (!message.live) {
      const copy = button("copy", () => { navigator.clipboard?.writeText(message.content); }, "raw");
      copy.ariaLabel = `Copy what ${message.author_name} said`;
      who.append(copy);
    }
    if (message.transcript) {
      const raw = button("source", () => this.use.source(message), "raw");
      raw.ariaLabel = `The transcript line of this message by ${message.author_name}`;
      who.append(raw);
    }
    made.append(who, words(element("div", "words"), message.content));
    return made;
  }

  /** Whether a message counts, and whether that can be changed. @param {HTMLElement} made @param {any} message
   * @param {boolean} may */
  mode(made, message, may) {
    const tick = /** @type {HTMLInputElement | null} */ (made.querySelector(".tick"));
    if (!tick) return;
    made.classList.toggle("inactive", message.active === false);
    if (tick.checked !== (message.active !== false)) tick.checked = message.active !== false;
    tick.disabled = !may;
  }

  /** Show one message, marked. @param {string} id */
  mark(id) {
    const found = this.messages.get(id);
    if (!found) return;
    for (const made of this.messages.values()) made.classList.toggle("marked", made === found);
    this.follow = false;
    found.scrollIntoView({ block: "center" });
    setTimeout(() => found.classList.remove("marked"), 4000);
  }

  atEnd() {
    const list = $("messages");
    return list.scrollHeight - list.scrollTop - list.clientHeight < 48;
  }

  /** To the newest; once more when what comes into view there has its real size. */
  toEnd() {
    const list = $("messages");
    this.follow = true;
    list.scrollTop = list.scrollHeight;
    $("latest").hidden = true;
    requestAnimationFrame(() => { if (this.follow) list.scrollTop = list.scrollHeight; });
  }
}

/** @param {any} room @returns {string} what it is about, if that was said */
export function topicOf(room) {
  return room?.auto?.topic || room?.topic || "";
}
