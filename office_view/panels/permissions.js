// @ts-check
/** What agents may not do unasked: a card each, to allow or to deny, for as long as there is time. */

import { permissions } from "../state.js";
import { clock, wanted, whyDenied, wish } from "../words.js";
import { $, avatar, button, element } from "./elements.js";

/** Where it is not known how long there was to decide, in seconds. */
const WAIT = 60;

export class Permissions {
  /** @param {{request: (message: any) => Promise<any>, say: (text: string) => void, redraw: () => void}} use */
  constructor(use) {
    this.use = use;
    /** What is shown, by its id. @type {Map<string, HTMLElement>} */ this.cards = new Map();
    /** What is shown in a close-up. @type {Map<string, HTMLElement>} */ this.near = new Map();
    /** Denials that were read, by id. @type {Set<string>} */ this.read = new Set();
    /** Decided here, and not yet by the server, by id. @type {Set<string>} */ this.sent = new Set();
    this.may = false;
  }

  /** @param {any} state @param {number} now @param {boolean} may decide */
  draw(state, now, may) {
    this.may = may;
    const asked = permissions(state);
    const list = $("permissions");
    /** @type {[string, () => HTMLElement][]} */
    const wanted = asked.map(({ agent, permission }) => [permission.id, () => this.card(state, agent, permission)]);
    for (const agent of state.agents.values()) {
      for (const denied of this.unread(agent)) wanted.push([`denied ${denied.id}`, () => this.line(agent, denied)]);
    }
    this.arrange(list, wanted);
    list.hidden = !wanted.length;
    $("panel").classList.toggle("asked", asked.length > 0);
    this.announce(asked, now);
    const why = state.scope === "operator" ? "" : "Only who moderates can decide.";
    for (const made of [...this.cards.values(), ...this.near.values()]) if (made.role === "group") this.enable(made, why);
    this.tick(now);
    const ids = new Set(wanted.map(([id]) => id));
    for (const id of this.sent) if (!ids.has(id)) this.sent.delete(id);
    for (const id of this.near.keys()) if (!ids.has(id)) this.near.delete(id);
    const expand = asked.length ? `« ${asked.length}` : "«";
    if ($("expand").textContent !== expand) $("expand").textContent = expand;
    $("expand").ariaLabel = `Show the conversation${asked.length ? `; somebody asks for a permission` : ""}`;
    $("expand").classList.toggle("primary", asked.length > 0);
    const title = `${asked.length ? `(${asked.length}) ` : ""}Office Supervisor`;
    if (document.title !== title) document.title = title;
  }

  /** @param {any} agent @returns {any[]} what was denied because nobody was there, and not yet read */
  unread(agent) { return (agent.denied ?? []).filter((/** @type {any} */ one) => !this.read.has(one.id)); }

  /** All cards and lines of one agent, for its close-up. @param {any} state @param {any} agent */
  of(state, agent) {
    /** @type {[string, () => HTMLElement][]} */
    const wanted = [...(agent.permissions ?? []).map((/** @type {any} */ one) => [one.id, () => this.card(state, agent, one)]),
      ...this.unread(agent).map((one) => [`denied ${one.id}`, () => this.line(agent, one)])];
    return wanted.map(([id, make]) => {
      const made = this.near.get(id) ?? make();
      this.near.set(id, made);
      return made;
    });
  }

  /** @param {HTMLElement} list @param {[string, () => HTMLElement][]} wanted */
  arrange(list, wanted) {
    const ids = new Set(wanted.map(([id]) => id));
    const focused = list.contains(document.activeElement);
    for (const [id, made] of this.cards) if (!ids.has(id)) { made.remove(); this.cards.delete(id); }
    for (const [at, [id, make]] of wanted.entries()) {
      let made = this.cards.get(id);
      if (!made) this.cards.set(id, made = make());
      if (list.children[at] !== made) list.insertBefore(made, list.children[at] ?? null);
    }
    // Not to a button of the next one: who presses a key twice has decided once.
    if (focused && !list.contains(document.activeElement)) /** @type {HTMLElement} */ (list.firstElementChild ?? $("messages")).focus();
  }

  /** @param {any} state @param {any} agent @param {any} permission */
  card(state, agent, permission) {
    const card = element("div", "permission");
    card.tabIndex = -1;
    card.role = "group";
    card.ariaLabel = `${agent.name} wants to ${wish(permission)}`;
    card.dataset.permission = permission.id;
    const head = element("div", "head");
    const who = element("div", "who");
    const room = state.rooms.get(agent.room_id);
    const role = room && state.rooms.size > 1 ? `${agent.role}, in ${room.name}` : agent.role;
    who.append(element("span", "name", agent.name), element("span", "soft", role));
    const settings = room?.settings ?? state.options?.settings;
    const ring = element("span", "ring");
    ring.ariaHidden = "true";
    const left = element("span", "left");
    left.role = "timer";
    left.title = "Then it is denied";
    Object.assign(left.dataset, { until: permission.until, wait: settings?.permission_wait ?? WAIT });
    head.append(avatar(agent.name), who, ring, left);
    const { verb, what } = wanted(permission);
    card.append(head, element("p", "wants", `wants to ${verb}`));
    if (what) {
      const shown = element("pre", "", what);
      const whole = button("Show the whole", () => { card.classList.add("open"); whole.hidden = true; shown.focus(); }, "whole");
      shown.tabIndex = 0;
      whole.hidden = true;
      card.append(shown, whole);
    }
    const row = element("div", "row");
    for (const [text, allow] of /** @type {[string, boolean][]} */ ([["Allow", true], ["Deny", false]])) {
      const one = button(text, () => { card.focus(); this.decide(permission.id, allow); }, allow ? "allow" : "deny");
      one.ariaLabel = `${text}: ${agent.name} wants to ${wish(permission)}`;
      row.append(one);
    }
    row.append(element("span", "soft why"));
    card.append(row);
    return card;
  }

  /** Nobody was there. @param {any} agent @param {any} denied */
  line(agent, denied) {
    const line = element("p", "denied");
    const close = button("×", () => { this.read.add(denied.id); this.use.redraw(); }, "plain");
    close.ariaLabel = "Close";
    line.append(element("span", "", whyDenied(agent.name, denied)), close);
    return line;
  }

  /** @param {HTMLElement} card @param {string} why it cannot be decided here, if so */
  enable(card, why) {
    const whole = /** @type {HTMLElement | null} */ (card.querySelector(".whole"));
    const what = card.querySelector("pre");
    if (whole && what && !card.classList.contains("open")) whole.hidden = what.scrollHeight <= what.clientHeight + 1;
    const sent = this.sent.has(card.dataset.permission ?? "");
    for (const one of card.querySelectorAll(".row button")) /** @type {HTMLButtonElement} */ (one).disabled = !this.may || sent;
    const place = /** @type {HTMLElement} */ (card.querySelector(".why"));
    if (place.textContent !== why) place.textContent = why;
  }

  /** @param {string} id @param {boolean} allow */
  decide(id, allow) {
    this.sent.add(id);
    this.use.request({ type: "resolve_permission", permission_id: id, allow }).catch((error) => {
      this.sent.delete(id);
      this.use.say(error.message);
      this.use.redraw();
    });
    this.use.redraw();
  }

  /** Said once to those who do not see the card. @param {{agent: any, permission: any}[]} asked @param {number} now */
  announce(asked, now) {
    const text = asked.map(({ agent, permission }) => `${agent.name} wants to ${wish(permission)}.`).join(" ");
    const place = $("asks");
    if (place.dataset.said === text) return;
    place.dataset.said = text;
    const [first] = asked;
    place.textContent = first ? `${text} ${Math.max(0, Math.round(first.permission.until - now))} seconds to allow or deny it.` : "";
  }

  /** The time goes on. @param {number} now */
  tick(now) {
    for (const card of [...this.cards.values(), ...this.near.values()]) {
      const left = /** @type {HTMLElement | null} */ (card.querySelector(".left"));
      if (!left) continue;
      const seconds = Math.max(0, Number(left.dataset.until) - now);
      const text = clock(seconds * 1000);
      if (left.textContent !== text) left.textContent = text;
      /** @type {HTMLElement} */ (left.previousElementSibling).style.setProperty("--left", String(Math.min(1, seconds / Math.max(1, Number(left.dataset.wait)))));
    }
  }
}
