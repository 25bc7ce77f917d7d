// @ts-check
/** Who is in the room, in the order in which they speak: a click lets somebody pause, a drag changes the order. */

import { $, avatar, button, element } from "./elements.js";

export class Members {
  /** @param {{ask: (message: any) => void, remove: (agent: any) => void}} use */
  constructor(use) {
    this.use = use;
    this.drawn = "";
    /** @type {any} */ this.room = null;
    /** @type {string | null} */ this.dragged = null;
    const list = $("members");  // dropped behind the last label, it becomes the last
    list.addEventListener("dragover", (/** @type {DragEvent} */ event) => { if (this.dragged) event.preventDefault(); });
    list.addEventListener("drop", (/** @type {DragEvent} */ event) => {
      if (event.target !== list || !this.dragged) return;
      event.preventDefault();
      this.place(this.room, this.dragged, this.room.agents.length - 1);
      this.dragged = null;
    });
  }

  /** @param {any} state @param {any} room */
  draw(state, room) {
    const list = $("members");
    this.room = room;
    const people = (room?.agents ?? []).map((/** @type {string} */ id) => state.agents.get(id)).filter(Boolean);
    list.hidden = people.length === 0;
    const may = state.scope === "operator";
    const word = JSON.stringify([may, room?.room_id, people.map((/** @type {any} */ a) => [a.agent_id, a.name, a.role, a.state, a.participating, a.permissions?.length,
      Math.round(100 * (a.context_tokens ?? 0) / (a.context_max || 1)), this.doing(a, room)])]);
    if (word === this.drawn) return;
    this.drawn = word;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.member : undefined;
    list.replaceChildren(...people.map((/** @type {any} */ agent) => this.chip(agent, room, may)));
    if (focused) list.querySelector(`[data-member="${CSS.escape(focused)}"]`)?.focus();
  }

  /** What a label says beside the name. @param {any} agent @param {any} room */
  doing(agent, room) {
    if (agent.permissions?.length) return "asks";
    if (agent.participating === false) return "paused";
    if (agent.state !== "idle") return agent.state;
    if (agent.failed || room.failed?.includes(agent.agent_id)) return "failed";
    return room.due?.includes(agent.agent_id) || room.mentioned?.includes(agent.agent_id) ? "queued" : "";
  }

  /** @param {any} agent @param {any} room @param {boolean} may */
  chip(agent, room, may) {
    const paused = agent.participating === false;
    const doing = this.doing(agent, room);
    const item = element("li", `member${paused ? " paused" : ""}`);
    const label = button("", () => may && this.use.ask({ type: "set_participation", agent_id: agent.agent_id, participating: paused }), "label");
    label.dataset.member = agent.agent_id;
    label.dataset.state = agent.state;
    label.ariaDisabled = String(!may);
    label.ariaPressed = String(!paused);
    label.ariaLabel = `${agent.name}, ${agent.role}${doing === "asks" ? ", asks for a permission" : doing ? `, ${doing}` : ""}`;
    const how = `. ${paused ? "Click to resume" : "Click to pause"}; Alt and arrows change the order.`;
    label.title = `${agent.name} | ${agent.role}${doing ? `, ${doing}` : ""}${may ? how : ""}`;
    label.append(avatar(agent.name), element("span", "name", agent.name));
    const mark = element("span", "doing");
    mark.dataset.doing = doing;
    label.append(mark);
    const share = Math.min(1, (agent.context_tokens ?? 0) / (agent.context_max || 1));
    const meter = element("span", `context${share >= 0.8 ? " full" : ""}`);
    meter.style.setProperty("--share", String(share));
    meter.ariaHidden = "true";
    item.append(label, meter);
    if (may) {
      const gone = button("×", () => this.use.remove(agent), "gone");
      gone.ariaLabel = `Remove ${agent.name}`;
      item.append(gone);
      this.orderable(item, label, agent, room);
    }
    return item;
  }

  /** @param {HTMLElement} item @param {HTMLElement} label @param {any} agent @param {any} room */
  orderable(item, label, agent, room) {
    label.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !event.altKey) return;
      event.preventDefault();
      this.place(room, agent.agent_id, room.agents.indexOf(agent.agent_id) + step);
    });
    item.draggable = true;
    item.addEventListener("dragstart", (event) => {
      this.dragged = agent.agent_id;
      event.dataTransfer?.setData("text/plain", agent.name);
    });
    item.addEventListener("dragover", (event) => { if (this.dragged) { event.preventDefault(); item.classList.add("target"); } });
    for (const kind of ["dragleave", "drop", "dragend"]) item.addEventListener(kind, () => item.classList.remove("target"));
    item.addEventListener("drop", (event) => {
      event.preventDefault();
      if (this.dragged) this.place(room, this.dragged, room.agents.indexOf(agent.agent_id));
      this.dragged = null;
    });
  }

  /** @param {any} room @param {string} id @param {number} to */
  place(room, id, to) {
    if (to < 0 || to >= room.agents.length) return;
    const order = room.agents.filter((/** @type {string} */ other) => other !== id);
    order.splice(to, 0, id);
    this.use.ask({ type: "set_order", room_id: room.room_id, agents: order });
  }
}
