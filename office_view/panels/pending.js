// @ts-check
/** Answers that wait for a person: each with a tick, as they stream in; taken or dismissed together. */

import { $, avatar, element, words } from "./elements.js";

export class Pending {
  /** @param {{ask: (message: any) => void}} use */
  constructor(use) {
    this.use = use;
    /** @type {Map<string, HTMLElement>} */ this.cards = new Map();
    /** @type {any} */ this.room = null;
    $("take").addEventListener("click", () => this.resolve());
    $("take-all").addEventListener("click", () => this.resolve(true));
    $("dismiss-all").addEventListener("click", () => this.resolve(false));
  }

  /** @param {boolean} [all] take all, or dismiss all; else as they are ticked */
  resolve(all) {
    const ids = this.room.pending.map((/** @type {any} */ one) => one.id);
    const ticked = (/** @type {string} */ id) => all ?? Boolean(this.cards.get(id)?.querySelector("input")?.checked);
    this.use.ask({ type: "resolve_pending", room_id: this.room.room_id, accept: ids.filter(ticked),
      dismiss: ids.filter((/** @type {string} */ id) => !ticked(id)) });
  }

  /** @param {any} state @param {any} room */
  draw(state, room) {
    this.room = room;
    const waiting = room?.pending ?? [];
    const answering = room && !room.auto ? room.agents.map((/** @type {string} */ id) => state.agents.get(id))
      .filter((/** @type {any} */ agent) => agent && agent.state !== "idle") : [];
    $("pending").hidden = !waiting.length && !answering.length;
    $("pending-actions").hidden = !waiting.length || state.scope !== "operator";
    $("pending-count").textContent = waiting.length ? `${waiting.length} ${waiting.length === 1 ? "answer waits" : "answers wait"} for you`
      : answering.length === 1 ? `${answering[0].name} | ${answering[0].role} thinking...` : `${answering.length} agents waiting to respond`;
    const wanted = new Map(waiting.map((/** @type {any} */ one) => [one.id, { name: one.author_name, text: one.content, live: false }]));
    for (const agent of answering) {
      if (agent.said && !agent.said.over) wanted.set(`live ${agent.said.id}`, { name: agent.name, text: agent.said.text || "…", live: true });
    }
    const list = $("pending-cards");
    for (const [id, card] of this.cards) if (!wanted.has(id)) { card.remove(); this.cards.delete(id); }
    for (const [id, one] of wanted) {
      let card = this.cards.get(id);
      if (!card) this.cards.set(id, card = this.card(one, list));
      words(/** @type {HTMLElement} */ (card.querySelector(".words")), one.text);
    }
  }

  /** @param {{name: string, live: boolean}} one @param {HTMLElement} list */
  card(one, list) {
    const card = element(one.live ? "div" : "label", `card${one.live ? " live" : ""}`);
    if (one.live) card.append(element("span", "spinner"));
    else card.append(Object.assign(document.createElement("input"), { type: "checkbox", checked: true }));
    const body = element("div", "body");
    const who = element("div", "who");
    who.append(avatar(one.name), element("span", "", one.name));
    body.append(who, element("div", "words"));
    card.append(body);
    list.append(card);
    return card;
  }
}
