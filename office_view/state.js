// @ts-check
/** What is known, and how each event changes it. Pure: no document, no socket, no clock. */

const KEPT = 12_000;
const HISTORY = 12;
const TALK = 100;
const DENIED = 3;
const THOUGHT = 300;
const UNANSWERED = ["timeout", "nobody"];
/** Words older than this, in seconds, are read in the panel and not in a bubble. */
export const FRESH = 20;

/** @returns {any} an office in which nothing is known yet */
export function empty() {
  return { seq: 0, scope: "viewer", agents: new Map(), leaving: new Map(), rooms: new Map(), tasks: new Map(), options: null,
    office: null, time: 0, talk: [], decides: true };
}

/** Take a welcome in: a whole picture, or the events that were missed.
 * @param {any} state @param {any} welcome @returns {any} */
export function welcomed(state, welcome) {
  if (!welcome.snapshot) {
    for (const event of welcome.events) applied(state, event, welcome.time);
    return Object.assign(state, { seq: welcome.seq, scope: welcome.scope, time: welcome.time });
  }
  const { agents, leaving, rooms, tasks, options, office, talk, decides } = welcome.snapshot;
  const fresh = empty();
  for (const agent of agents) {
    const said = agent.said ? { ...agent.said, blocks: [], over: false, at: welcome.time } : undefined;
    fresh.agents.set(agent.agent_id, { ...agent, said });
  }
  for (const agent of leaving) fresh.leaving.set(agent.agent_id, agent);
  for (const room of rooms) fresh.rooms.set(room.room_id, room);
  for (const task of tasks) fresh.tasks.set(task.id, task);
  return { ...fresh, options, office, talk: (talk ?? []).map(inPassing), decides: decides ?? true, seq: welcome.seq, scope: welcome.scope, time: welcome.time };
}

/** Change the state by one frame; an event that was had before changes nothing.
 * @param {any} state @param {any} event @param {number} [now] what time it is at the server, where that is not the event's */
export function applied(state, event, now = event.at) {
  if (event.seq !== undefined) {
    if (event.seq <= state.seq) return;
    state.seq = event.seq;
  }
  const agent = state.agents.get(event.agent_id ?? event.agentId);
  const room = state.rooms.get(event.room_id ?? event.roomId ?? event.message?.room_id);
  switch (event.type) {
    case "agent_spawned":
      state.agents.set(event.agent_id, {
        ...event, state: "idle", state_since: event.at, current_task: null, last_message: "", input_tokens: 0,
        output_tokens: 0, context_tokens: 0, cost_usd: 0, participating: true, spawned_at: event.at, states: [],
        asked: false, permissions: [], denied: [], decides: Boolean(state.options?.free?.includes(event.cli_backend)),
        path: [event.position], started_at: event.at, ms_per_tile: 333, facing: "down", reason: "enters",
      });
      if (room) room.agents.push(event.agent_id);
      break;
    case "agent_removed":
      if (agent?.reason === "leaves") state.leaving.set(event.agent_id, { ...agent, failed: "", tool: "", said: undefined });
      state.agents.delete(event.agent_id);
      for (const any of state.rooms.values()) any.agents = any.agents.filter((/** @type {string} */ id) => id !== event.agent_id);
      break;
    case "agent_state_update":
      if (agent) {
        agent.states = [...agent.states, { state: event.state, at: event.at }].slice(-HISTORY);
        Object.assign(agent, { state: event.state, state_since: event.at, position: event.position,
          current_task: event.current_task });
        if (event.state === "idle") agent.tool = "";
        agent.tries = null;
      }
      break;
    case "agent_participation":
      if (agent) agent.participating = event.participating;
      break;
    case "agent_moved":
      if (agent) Object.assign(agent, { path: event.path, started_at: event.started_at, ms_per_tile: event.ms_per_tile,
        facing: event.facing, reason: event.reason });
      break;
    case "office_furnished":
      break;  // a new plan comes with a new server, and so with a whole picture
    case "agentMessage":
      if (agent) {
        agent.last_message = event.text;
        const ask = event.messageId.split(":")[0];
        if (now - event.at < FRESH) {
          if (agent.said?.id !== ask) agent.said = { id: ask, text: "", blocks: [], over: false };
          agent.said.at = event.at;
          agent.said.blocks.push(event.text);
          agent.said.text = agent.said.blocks.join("\n\n");
        }
      }
      break;
    case "agent_usage":
      if (agent && state.rooms.has(agent.room_id)) {
        const home = state.rooms.get(agent.room_id);
        home.tokens = (home.tokens ?? 0) + event.input_tokens + event.output_tokens - agent.input_tokens - agent.output_tokens;
        home.cost_usd = (home.cost_usd ?? 0) + event.cost_usd - agent.cost_usd;
      }
      if (agent) Object.assign(agent, { input_tokens: event.input_tokens, output_tokens: event.output_tokens,
        context_tokens: event.context_tokens, context_max: event.context_max, cost_usd: event.cost_usd });
      break;
    case "agent_text_delta":
      if (agent?.said?.id === event.ask_id && !agent.said.blocks.length) agent.said.text += event.text;
      break;
    case "agent_tool":
      if (agent) Object.assign(agent, { tool: event.status === "started" ? `${event.tool} ${event.summary}`.trim() : "", tries: null });
      break;
    case "agent_thought":
      if (agent) Object.assign(agent, { thought: event.text.slice(0, THOUGHT), tries: null });
      break;
    case "agent_retry":
      if (agent) agent.tries = [event.attempt, event.max_retries, event.reason];
      break;
    case "agent_compacted":
      break;  // how full its context is comes with what it uses
    case "permission_asked":
      if (agent) agent.permissions = [...(agent.permissions ?? []), event.permission];
      break;
    case "permission_resolved":
      if (agent) {
        const over = (agent.permissions ?? []).filter((/** @type {any} */ one) => one.id === event.permission_id);
        agent.permissions = (agent.permissions ?? []).filter((/** @type {any} */ one) => one.id !== event.permission_id);
        if (UNANSWERED.includes(event.by)) {  // nobody has seen it, so it is told until the agent's next turn
          agent.denied = [...(agent.denied ?? []), ...over.map((/** @type {any} */ one) => ({ ...one, by: event.by }))].slice(-DENIED);
        }
      }
      break;
    case "turn_started":
    case "turn_restarted":
      if (agent) {
        agent.said = { id: event.ask_id, text: "", blocks: [], over: false, at: event.at };
        agent.failed = agent.thought = "";
        agent.tries = null;
        agent.asked = true;
        agent.denied = [];
      }
      if (room) room.waiting_for_response = event.agent_id;
      if (room && event.purpose === "outcome") room.concluding = event.agent_id;
      if (room) room.failed = (room.failed ?? []).filter((/** @type {string} */ id) => id !== event.agent_id);
      if (room && event.heard) (room.hearing ??= {})[event.agent_id] = { to: room.messages.at(-1)?.id ?? "", ids: event.heard };
      break;
    case "turn_ended":
      if (agent) {
        agent.tool = "";
        agent.asked = false;
        agent.failed = event.outcome === "failed" ? event.detail || "failed" : "";
        if (agent.said?.id === event.ask_id) agent.said.over = true;
      }
      if (room && !room.auto) {
        if (event.outcome === "failed") room.failed = [...(room.failed ?? []), event.agent_id];
        room.due = (room.due ?? []).filter((/** @type {string} */ id) => id !== event.agent_id);
      }
      if (room?.waiting_for_response === event.agent_id) room.waiting_for_response = null;
      if (room?.hearing?.[event.agent_id] && (event.outcome === "answered" || event.outcome === "skipped")) heard(room, event.agent_id);
      if (room?.auto && (event.outcome === "answered" || event.outcome === "skipped")) room.auto.turns += 1;
      break;
    case "message_added":
      if (room) {
        room.messages.push({ ...event.message, seq: event.seq });
        if (room.messages.length > KEPT) room.messages.shift();
        const author = state.agents.get(event.message.author);
        if (event.message.type === "agent" && author?.said && now - event.at < FRESH) {
          Object.assign(author.said, { text: event.message.content, over: true, messageId: event.message.id, at: event.at });
        }
      }
      break;
    case "message_updated":
      if (room) toggled(room, event.message);
      break;
    case "conversation_begun":
      if (room) Object.assign(room, { messages: room.messages.map((/** @type {any} */ one) => ({ ...one, active: false })), heard: {}, hearing: {},
        topic: "", end: null, outcome: null, concluding: "", failed: [], current_index: 0 });
      break;
    case "room_renamed":
      if (room) room.name = event.name;
      break;
    case "pending_added":
      if (room) {
        room.pending.push(event.message);
        const author = state.agents.get(event.message.author);
        if (author?.said && now - event.at < FRESH) Object.assign(author.said, { text: event.message.content, over: true, messageId: event.message.id, at: event.at });
      }
      break;
    case "room_outcome":
      if (room) Object.assign(room, { outcome: event.message, concluding: "" });
      break;
    case "pending_resolved":
      if (room) {
        const done = new Set([...event.accepted, ...event.dismissed]);
        room.pending = room.pending.filter((/** @type {any} */ one) => !done.has(one.id));
      }
      break;
    case "room_created":
      state.rooms.set(event.room_id, { room_id: event.room_id, name: event.name, agents: [], messages: [], pending: [], due: [], failed: [],
        auto: null, mode: "manual", settings: { ...state.options?.settings, ...event.settings }, end: null, guests: event.guests ?? {} });
      break;
    case "room_closed":
      state.rooms.delete(event.room_id);
      break;
    case "room_updated":
      if (room) Object.assign(room, { mode: event.mode, agents: event.agents, current_index: event.current_index,
        waiting_for_response: event.waiting_for_response, next_response_at: event.next_response_at, due: event.due,
        mentioned: event.mentioned,
        settings: { ...state.options?.settings, ...event.settings } });
      for (const one of state.agents.values()) {
        if (event.agents.includes(one.agent_id)) one.room_id = event.room_id;
        else if (one.room_id === event.room_id) one.room_id = null;
      }
      break;
    case "autoModeStarted":
      if (room) Object.assign(room, { mode: "auto", end: null, outcome: null, concluding: "", failed: [], due: [], topic: event.topic, auto: { topic: event.topic,
        startedAt: event.at, endsAt: event.endsAt, turns: 0, interactionPattern: event.interactionPattern,
        paused: null, retryAt: null } });
      break;
    case "autoModePaused":
      if (room?.auto) Object.assign(room.auto, { paused: event.reason, retryAt: event.retryAt, detail: event.detail, pausedAt: event.at });
      break;
    case "autoModeResumed":
      if (room?.auto) Object.assign(room.auto, { paused: null, retryAt: null, endsAt: event.endsAt });
      for (const id of room?.agents ?? []) if (state.agents.has(id)) state.agents.get(id).failed = "";
      break;
    case "autoModeEnded":
      if (room) Object.assign(room, { mode: "manual", end: event, auto: null, mentioned: [], next_response_at: null, waiting_for_response: null });
      for (const id of room?.agents ?? []) if (state.agents.has(id)) state.agents.get(id).failed = "";
      break;
    case "task_updated":
      if (event.task.status === "completed") state.tasks.delete(event.task.id);
      else state.tasks.set(event.task.id, event.task);
      if (state.agents.has(event.task.agent_id)) {
        const own = [...state.tasks.values()].filter((task) => task.agent_id === event.task.agent_id);
        state.agents.get(event.task.agent_id).current_task = own.length ? own[own.length - 1].task_name : null;
      }
      break;
    case "decision_started":
      if (agent) agent.deciding = true;
      break;
    case "agent_decision":
      if (agent) {
        agent.deciding = false;
        agent.chose = [...(agent.chose ?? []), { action: event.action, target: event.target, detail: event.detail, outcome: event.outcome, at: event.at }].slice(-HISTORY);
      }
      break;
    case "decision_loop":
      if (agent) agent.decides = event.on;
      else if (!event.agent_id) state.decides = event.on;
      break;
    case "agent_speech":
      if (agent && event.room_id == null) {
        agent.last_message = event.content;
        state.talk = [...state.talk, inPassing({ ...event, name: agent.name })].slice(-TALK);
        if (now - event.at < FRESH) agent.said = { id: `talk ${event.seq}`, text: event.content, blocks: [], over: true, at: event.at };
      }
      break;
    case "agent_session": {
      const home = state.rooms.get(agent?.room_id);
      if (home) home.heard = { ...home.heard, [event.agent_id]: { to: "", differs: [] } };
      break;
    }
    case "agent_acknowledged":
    case "answer_held":
    case "keywordIgnored":
    case "context_warning":
    case "rate_limited":
    case "status":
      break;
    default:  // of a newer server: what we do not know, we do not show
      break;
  }
}

/** What was said outside of rooms, as a message of no room. @param {any} one */
const inPassing = (one) => ({ id: `talk ${one.at} ${one.agent_id}`, type: "agent", author: one.agent_id, author_name: one.name, content: one.content, at: one.at, passing: true });

/** What is said in passing, as if it were a room. @param {any} state */
export function around(state) {
  return { room_id: AROUND, name: "Around the office", agents: [], messages: state.talk, pending: [], due: [], failed: [], auto: null, end: null,
    settings: {}, topic: "", oldest: 0 };
}
export const AROUND = "around";

/** Put older messages before those that are known. @param {any} room @param {any[]} older */
export function remembered(room, older) {
  const known = new Set(room.messages.map((/** @type {any} */ one) => one.id));
  room.messages = [...older.filter((one) => !known.has(one.id)), ...room.messages];
  room.oldest = older.length ? Math.min(room.oldest ?? Infinity, older[0].seq) : 0;
}

/** An agent has been told what its prompt held; some of it may have been changed meanwhile. @param {any} room @param {string} id */
function heard(room, id) {
  const { to, ids } = room.hearing[id];
  const before = room.heard?.[id] ?? { to: "", differs: [] };
  const place = (/** @type {string} */ message) => room.messages.findLastIndex((/** @type {any} */ one) => one.id === message);
  const differs = room.messages.slice(place(before.to) + 1, place(to) + 1).filter((/** @type {any} */ one) =>
    isSpoken(one) && one.author !== "topic" && one.active !== (ids.includes(one.id) || one.author === id)).map((/** @type {any} */ one) => one.id);
  room.heard = { ...room.heard, [id]: { to, differs: [...before.differs, ...differs] } };
}

/** A message counts from now on, or no longer. @param {any} room @param {any} message */
function toggled(room, message) {
  const at = room.messages.findIndex((/** @type {any} */ one) => one.id === message.id);
  if (at < 0 || room.messages[at].active === message.active) return;
  room.messages = room.messages.with(at, { ...room.messages[at], ...message });
  for (const hearing of Object.values(room.heard ?? {})) {
    if (at > room.messages.findLastIndex((/** @type {any} */ one) => one.id === hearing.to)) continue;
    hearing.differs = hearing.differs.includes(message.id) ? hearing.differs.filter((/** @type {string} */ id) => id !== message.id)
      : [...hearing.differs, message.id];
  }
}

/** @param {any} message */
export const isSpoken = (message) => message.type === "user" || message.type === "agent";

/** What an agent's session does not hold, of what was said. @param {any} room @param {string} id @returns {Set<string>} */
export function unheard(room, id) {
  const hearing = room.heard?.[id] ?? { to: "", differs: [] };
  const last = room.messages.findLastIndex((/** @type {any} */ one) => one.id === hearing.to);
  const missing = room.messages.filter((/** @type {any} */ one, /** @type {number} */ at) => isSpoken(one) && one.author !== id
    && !(at <= last && (one.active !== false) !== hearing.differs.includes(one.id)));
  return new Set(missing.map((/** @type {any} */ one) => one.id));
}

/** What somebody has to allow or deny, whoever asks for it, the most urgent first. @param {any} state
 * @returns {{agent: any, permission: any}[]} */
export function permissions(state) {
  const all = [...state.agents.values()].flatMap((agent) => (agent.permissions ?? []).map((/** @type {any} */ permission) => ({ agent, permission })));
  return all.sort((a, b) => a.permission.until - b.permission.until);
}

/** What to tell in passing, if anything. @param {any} state @param {any} event */
export function toast(state, event) {
  const name = state.agents.get(event.agent_id ?? event.agentId)?.name;
  switch (event.type) {
    case "keywordIgnored": return `${name} wants to end it before turn ${event.minTurns}: ignored`;
    case "context_warning": return `${name}'s context is ${Math.round(100 * event.context_tokens / event.context_max)} % full`;
    case "status": return event.level === "info" ? "" : event.message;
    default: return "";
  }
}
