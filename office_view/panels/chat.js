// @ts-check
/** The conversation as it runs. */

import { $, avatar, button, element, words } from "./elements.js";

export class Chat {
  /** @param {{source: (message: any) => void, toggle: (message: any, active: boolean) => void}} use */
  constructor(use) {
    this.use = use;
    /** @type {string | null} */ this.shownRoom = null;
    /** @type {Map<string, HTMLElement>} */ this.messages = new Map();
    $("messages").addEventListener("scroll", () => { $("latest").hidden = this.atEnd(); });
    $("latest").addEventListener("click", () => this.toEnd());
  }

  /** @param {any} state @param {any} room */
  draw(state, room) {
    const list = $("messages");
    const follow = this.atEnd();
    if (this.shownRoom !== (room?.room_id ?? null)) {
      this.shownRoom = room?.room_id ?? null;
      this.messages.clear();
      list.replaceChildren();
    }
    const topic = topicOf(room) ?? (room?.agents.length ? room.name : "No conversation yet");
    if ($("topic").textContent !== topic) $("topic").textContent = topic;
    const wanted = new Map();
    for (const message of room?.messages ?? []) wanted.set(message.id, message);
    for (const id of room?.agents ?? []) {
      const agent = state.agents.get(id);
      const said = agent?.said;
      if (room.auto && said?.text && !said.messageId && !said.over) {
        wanted.set(`live ${said.id}`, { type: "agent", author_name: agent.name, content: said.text, live: true });
      }
    }
    for (const [id, made] of this.messages) if (!wanted.has(id)) { made.remove(); this.messages.delete(id); }
    for (const [id, message] of wanted) {
      const known = this.messages.get(id);
      if (known && !message.live) this.mode(known, message, state.scope === "operator");
      if (known && message.live) words(/** @type {HTMLElement} */ (known.querySelector(".words")), message.content);
      if (!known) {
        const made = this.message(message);
        this.mode(made, message, state.scope === "operator");
        this.messages.set(id, made);
        list.append(made);
      }
    }
    if (follow) this.toEnd();
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
    if (!message.live && message.author !== "topic") {
      const tick = Object.assign(document.createElement("input"), { type: "checkbox", className: "tick", checked: message.active !== false });
      tick.ariaLabel = `This message by ${message.author_name} counts`;
      tick.addEventListener("change", () => this.use.toggle(message, tick.checked));
      who.append(tick);
    }
    who.append(element("span", "", message.author_name));
    if (message.at) {
      who.append(element("span", "when", new Date(message.at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })));
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
    found.scrollIntoView({ block: "center" });
    setTimeout(() => found.classList.remove("marked"), 4000);
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

/** @param {any} room @returns {string | undefined} what it is about */
export function topicOf(room) {
  const said = (/** @type {(m: any) => boolean} */ fits) => room?.messages.findLast(fits)?.content;
  return room?.auto?.topic ?? room?.lastTopic ?? said((m) => m.author === "topic") ?? said((m) => m.type === "user");
}
