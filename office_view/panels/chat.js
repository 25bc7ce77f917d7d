// @ts-check
/** The conversation as it runs. */

import { $, avatar, button, element, words } from "./elements.js";

export class Chat {
  /** @param {{source: (message: any) => void}} use */
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
    const topic = topicOf(room) ?? "No conversation yet";
    if ($("topic").textContent !== topic) $("topic").textContent = topic;
    const wanted = new Map();
    for (const message of room?.messages ?? []) wanted.set(message.id, message);
    for (const id of room?.agents ?? []) {
      const agent = state.agents.get(id);
      const said = agent?.said;
      if (said?.text && !said.messageId && !said.over) {
        wanted.set(`live ${said.id}`, { type: "agent", author_name: agent.name, content: said.text, live: true });
      }
    }
    for (const [id, made] of this.messages) if (!wanted.has(id)) { made.remove(); this.messages.delete(id); }
    for (const [id, message] of wanted) {
      const known = this.messages.get(id);
      if (known && message.live) words(/** @type {HTMLElement} */ (known.querySelector(".words")), message.content);
      if (!known) {
        const made = this.message(message);
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
  return room?.auto?.topic ?? room?.lastTopic ?? room?.messages.findLast((/** @type {any} */ m) => m.author === "topic")?.content;
}
