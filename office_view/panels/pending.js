// @ts-check
/** Answers that wait for a person, in the order of the room, as they stream in: taken or dismissed together or one by one. */

import { doing, trying, working } from "../words.js";
import { $, avatar, button, element, words } from "./elements.js";

export class Pending {
  /** @param {{ask: (message: any) => void}} use */
  constructor(use) {
    this.use = use;
    /** @type {Map<string, HTMLElement>} */ this.cards = new Map();
    /** @type {any} */ this.room = null;
    $("take").addEventListener("click", () => this.resolve());
    $("take-all").addEventListener("click", () => this.resolve(true));
    $("dismiss-all").addEventListener("click", () => this.resolve(false));
    $("pending").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.resolve(); }
    });
  }

  /** @param {boolean} [all] take all, or dismiss all; else as they are ticked */
  resolve(all) {
    const ids = this.room.pending.map((/** @type {any} */ one) => one.id);
    const ticked = (/** @type {string} */ id) => all ?? Boolean(this.cards.get(id)?.querySelector("input")?.checked);
    this.decide(ids.filter(ticked), ids.filter((/** @type {string} */ id) => !ticked(id)));
  }

  /** @param {string[]} accept @param {string[]} dismiss */
  decide(accept, dismiss) {
    this.use.ask({ type: "resolve_pending", room_id: this.room.room_id, accept, dismiss });
    if (accept.length + dismiss.length === this.room.pending.length) $("write").focus();
  }

  /** @param {any} state @param {any} room */
  draw(state, room) {
    this.room = room;
    const waiting = room?.pending ?? [];
    const answering = room && !room.auto ? room.agents.map((/** @type {string} */ id) => state.agents.get(id))
      .filter((/** @type {any} */ agent) => agent?.asked && room.concluding !== agent.agent_id) : [];
    const may = state.scope === "operator";
    $("pending").hidden = !waiting.length && !answering.length;
    $("pending-actions").hidden = !waiting.length || !may;
    const ready = waiting.length ? `${waiting.length} ${waiting.length === 1 ? "answer waits" : "answers wait"} for you` : "";
    const count = [ready, working(room?.auto ? null : room, state.agents)].filter(Boolean).join(" · ");
    if ($("pending-count").textContent !== count) $("pending-count").textContent = count;
    const place = (/** @type {string} */ author) => (room.agents.indexOf(author) + 1 || Infinity);
    const wanted = waiting.map((/** @type {any} */ one) => ({ id: one.id, author: one.author, name: one.author_name, text: one.content, live: false }));
    for (const agent of answering) {
      if (agent.said && !agent.said.over) wanted.push({ id: `live ${agent.said.id}`, author: agent.agent_id, name: agent.name, text: agent.said.text || (agent.permissions?.length ? "asks for a permission …" : agent.tries ? `${trying(agent.tries)} …` : agent.tool ? `${doing(agent.tool)} …` : "…"), live: true });
    }
    wanted.sort((/** @type {any} */ a, /** @type {any} */ b) => place(a.author) - place(b.author) || a.id.localeCompare(b.id));
    this.arrange(wanted, may);
  }

  /** @param {any[]} wanted @param {boolean} may */
  arrange(wanted, may) {
    const list = $("pending-cards");
    const ids = new Set(wanted.map((one) => one.id));
    for (const [id, card] of this.cards) if (!ids.has(id)) { card.remove(); this.cards.delete(id); }
    for (const [at, one] of wanted.entries()) {
      let card = this.cards.get(one.id);
      if (!card) this.cards.set(one.id, card = this.card(one, may));
      if (list.children[at] !== card) list.insertBefore(card, list.children[at] ?? null);
      words(/** @type {HTMLElement} */ (card.querySelector(".words")), one.text);
    }
  }

  /** @param {{id: string, name: string, live: boolean}} one @param {boolean} may */
  card(one, may) {
    const card = element("div", `card${one.live ? " live" : ""}`);
    const body = element("div", "body");
    const who = element(one.live ? "div" : "label", "who");
    if (one.live) card.append(element("span", "spinner"));
    else {
      const tick = Object.assign(document.createElement("input"), { type: "checkbox", checked: true, disabled: !may });
      tick.ariaLabel = `Take the answer of ${one.name}`;
      who.append(tick);
    }
    who.append(avatar(one.name), element("span", "", one.name));
    const head = element("div", "head");
    head.append(who);
    if (!one.live && may) {
      const take = button("Take", () => this.decide([one.id], []), "raw");
      const dismiss = button("Dismiss", () => this.decide([], [one.id]), "raw");
      take.ariaLabel = `Take only the answer of ${one.name} now`;
      dismiss.ariaLabel = `Dismiss only the answer of ${one.name} now`;
      head.append(take, dismiss);
    }
    body.append(head, element("div", "words"));
    card.append(body);
    return card;
  }
}
