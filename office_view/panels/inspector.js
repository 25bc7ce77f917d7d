// @ts-check
/** One colleague from close up: state, words, task, CLI, tokens, and what its processes use. */

import { activity, clock, size } from "../words.js";
import { $, avatar, button, element, words } from "./elements.js";

const EVERY_MS = 2000;

export class Inspector {
  /** @param {{request: (message: any) => Promise<any>, close: () => void, remove: (agent: any) => void,
   *   permissions: import("./permissions.js").Permissions, say: (text: string) => void}} use */
  constructor(use) {
    this.use = use;
    /** @type {string | null} */ this.id = null;
    /** @type {any} */ this.figures = null;
    this.timer = 0;
    this.drawn = "";
    /** @type {string[][]} */ this.rooms = [];
  }

  /** @param {string | null} id */
  select(id) {
    if (id === this.id) return;
    this.id = id;
    this.figures = null;
    this.drawn = "";
    clearInterval(this.timer);
    if (id) {
      this.ask();
      this.timer = window.setInterval(() => this.ask(), EVERY_MS);
    }
  }

  ask() {
    if (!this.id || document.hidden) return;
    const { id } = this;
    this.use.request({ type: "get_agent_state", agent_id: id }).then((answer) => {
      if (id === this.id) { this.figures = answer; this.redraw?.(); }
    }).catch(() => {});
  }

  /** @type {(() => void) | undefined} */ redraw;

  /** @param {any} state @param {number} now */
  draw(state, now) {
    const panel = $("inspector");
    const agent = this.id ? state.agents.get(this.id) : null;
    panel.hidden = !agent;
    if (!agent) return;
    const seen = this.figures;
    const facts = [
      ["State", activity(agent)],
      ["For", clock((now - agent.state_since) * 1000)],
      ["Task", agent.current_task ?? "none"],
      ["Backend", agent.cli_backend + (agent.model ? ` · ${agent.model}` : "")],
      ["Tokens", `${number(agent.input_tokens)} in, ${number(agent.output_tokens)} out`],
      ...(agent.cost_usd ? [["Cost", `$${agent.cost_usd.toFixed(4)}`]] : []),
      ["CPU", seen ? `${seen.cpu_percent.toFixed(1)} %` : "…"],
      ["Memory", seen ? size(seen.memory_bytes) : "…"],
      ["Up", clock((now - agent.spawned_at) * 1000)],
      ["Process", seen?.pid ? String(seen.pid) : "…"],
    ];
    const tasks = [...state.tasks.values()].filter((task) => task.agent_id === agent.agent_id);
    const lively = Boolean(state.options?.life?.idle_seconds);
    this.rooms = [...state.rooms.values()].map((room) => [room.room_id, room.name]);
    const word = JSON.stringify([this.rooms, agent.room_id, agent.agent_id, facts.map(([what]) => what), agent.last_message, agent.thought, agent.states, agent.context_tokens, state.scope, tasks,
      agent.decides, agent.chose, agent.permissions, this.use.permissions.unread(agent)]);
    if (word !== this.drawn) {
      this.drawn = word;
      this.build(panel, agent, facts, state.scope === "operator", tasks, lively, this.use.permissions.of(state, agent));
    }
    const values = panel.querySelectorAll("dd");
    facts.forEach(([, value], at) => { if (values[at].textContent !== value) values[at].textContent = value; });
  }

  /** @param {HTMLElement} panel @param {any} agent @param {string[][]} facts @param {boolean} may @param {any[]} tasks
   * @param {boolean} lively whether agents here decide anything at all @param {HTMLElement[]} asked what it may not do unasked */
  build(panel, agent, facts, may, tasks, lively, asked) {
    const typed = /** @type {HTMLInputElement | null} */ (panel.querySelector(".new-task"))?.value ?? "";
    const draft = panel.dataset.agent === agent.agent_id ? typed : "";
    panel.dataset.agent = agent.agent_id;
    const at = document.activeElement;
    const focused = panel.contains(document.activeElement) ? document.activeElement?.className : null;
    const scrolled = panel.scrollTop;
    const head = element("header");
    const names = element("div");
    const title = element("h2", "", agent.name);
    title.id = "inspector-name";
    names.append(title, element("p", "soft", agent.role));
    const close = button("×", () => this.use.close(), "plain");
    close.ariaLabel = "Close";
    head.append(avatar(agent.name), names, close);
    const list = element("dl");
    for (const [what, value] of facts) list.append(element("dt", "", what), element("dd", "", value));
    panel.replaceChildren(head, ...asked, list, ...(may ? [this.room(agent)] : []), ...this.tasks(agent, tasks, may, draft), ...this.context(agent), ...thought(agent), element("h3", "", "Last message"), lastWords(agent),
      ...(lively ? this.life(agent, may) : []), ...this.history(agent));
    if (may) panel.append(button("Remove …", () => this.use.remove(agent), "remove"));
    panel.scrollTop = scrolled;
    if (asked.some((card) => card.contains(at))) /** @type {HTMLElement} */ (at).focus();
    else if (focused === "permission") close.focus();
    else if (focused) /** @type {HTMLElement | null} */ (panel.querySelector(`.${focused}`))?.focus();
  }

  /** @param {any} agent */
  context(agent) {
    if (!agent.context_max) return [];
    const share = agent.context_tokens / agent.context_max;
    const meter = /** @type {HTMLMeterElement} */ (element("meter"));
    Object.assign(meter, { min: 0, max: 1, low: 0.8, high: 0.95, optimum: 0, value: share });
    meter.ariaLabel = "Context used";
    return [element("h3", "", `Context: ${Math.round(share * 100)} % of ${number(agent.context_max)} tokens`), meter];
  }

  /** In which room it is; another one can be chosen. @param {any} agent */
  room(agent) {
    const label = element("label", "check", "Room");
    const select = document.createElement("select");
    select.append(new Option("none", "", false, !agent.room_id), ...this.rooms.map(([id, name]) => new Option(name, id, false, id === agent.room_id)));
    select.addEventListener("change", () => {
      const message = select.value ? { type: "join_room", agent_id: agent.agent_id, room_id: select.value } : { type: "leave_room", agent_id: agent.agent_id };
      this.use.request(message).catch((error) => { this.use.say(error.message); select.value = agent.room_id ?? ""; });
    });
    label.append(select);
    return label;
  }

  /** @param {any} agent @param {any[]} tasks @param {boolean} may @param {string} draft */
  tasks(agent, tasks, may, draft) {
    if (!may && !tasks.length) return [];
    const list = element("ul", "tasks");
    for (const task of tasks) {
      const row = element("li");
      row.append(element("span", "", task.task_name));
      if (may) {
        const done = button("Done", () => { this.use.request({ type: "complete_task", task_id: task.id }).catch((error) => this.use.say(error.message)); });
        done.ariaLabel = `Done: ${task.task_name}`;
        row.append(done);
      }
      list.append(row);
    }
    if (!may) return [element("h3", "", "Tasks"), list];
    const form = element("form");
    const name = Object.assign(document.createElement("input"), { className: "new-task", maxLength: 500, placeholder: "A new task", value: draft });
    name.ariaLabel = `A new task for ${agent.name}`;
    const add = Object.assign(document.createElement("button"), { textContent: "Give" });
    form.append(name, add);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const given = name.value.trim();
      if (!given) return;
      name.value = "";  // at once: the panel may be drawn anew before the answer is here
      this.use.request({ type: "assign_task", agent_id: agent.agent_id, task_name: given }).catch((error) => {
        const field = /** @type {HTMLInputElement | null} */ (document.querySelector(".new-task"));
        if (field && !field.value) field.value = given;
        this.use.say(error.message);
      });
    });
    return [element("h3", "", "Tasks"), ...(tasks.length ? [list] : []), form];
  }

  /** What it does by itself, and whether it may. @param {any} agent @param {boolean} may */
  life(agent, may) {
    const label = element("label", "check");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: Boolean(agent.decides), disabled: !may });
    box.addEventListener("change", () => { this.use.request({ type: "set_decision_loop", agent_id: agent.agent_id, on: box.checked }).catch((error) => { box.checked = !box.checked; this.use.say(error.message); }); });
    label.append(box, element("span", "", "Decides by itself what to do"));
    const list = element("ul", "states");
    for (const one of [...(agent.chose ?? [])].reverse().slice(0, 6)) {
      const row = element("li");
      const what = `${one.action}${one.target ? ` ${one.target}` : ""}${one.detail ? `: ${one.detail}` : ""}`;
      row.append(element("span", "", what), element("span", "", new Date(one.at * 1000).toLocaleTimeString()));
      list.append(row);
    }
    return [element("h3", "", "Of its own accord"), label, list];
  }

  /** @param {any} agent */
  history(agent) {
    if (!agent.states.length) return [];
    const list = element("ul", "states");
    for (const { state, at } of [...agent.states].reverse().slice(0, 8)) {
      const row = element("li");
      row.append(element("span", "", state), element("span", "", new Date(at * 1000).toLocaleTimeString()));
      list.append(row);
    }
    return [element("h3", "", "Lately"), list];
  }
}

/** @param {any} agent */
function thought(agent) {
  return agent.thought ? [element("h3", "", "Last thought"), words(element("div", "last thought"), agent.thought)] : [];
}

/** @param {any} agent */
function lastWords(agent) {
  const made = words(element("div", "last"), agent.last_message || "Has not said anything yet.");
  made.tabIndex = 0;
  return made;
}

/** @param {number} value */
const number = (value) => (value ?? 0).toLocaleString("en");
