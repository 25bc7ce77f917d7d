// @ts-check
/** What is known, and how each event changes it. Pure: no document, no socket, no clock. */

const KEPT = 12_000;
const HISTORY = 12;
/** Words older than this, in seconds, are read in the panel and not in a bubble. */
export const FRESH = 20;

/** @returns {any} an office in which nothing is known yet */
export function empty() {
  return { seq: 0, scope: "viewer", agents: new Map(), leaving: new Map(), rooms: new Map(), tasks: new Map(), options: null,
    office: null, time: 0 };
}

/** Take a welcome in: a whole picture, or the events that were missed.
 * @param {any} state @param {any} welcome @returns {any} */
export function welcomed(state, welcome) {
  if (!welcome.snapshot) {
    for (const event of welcome.events) applied(state, event, welcome.time);
    return Object.assign(state, { seq: welcome.seq, scope: welcome.scope, time: welcome.time });
  }
  const { agents, leaving, rooms, tasks, options, office } = welcome.snapshot;
  const fresh = empty();
  for (const agent of agents) {
    const said = agent.said ? { ...agent.said, blocks: [], over: false, at: welcome.time } : undefined;
    fresh.agents.set(agent.agent_id, { ...agent, said });
  }
  for (const agent of leaving) fresh.leaving.set(agent.agent_id, agent);
  for (const room of rooms) fresh.rooms.set(room.room_id, room);
  for (const task of tasks) fresh.tasks.set(task.id, task);
  return { ...fresh, options, office, seq: welcome.seq, scope: welcome.scope, time: welcome.time };
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
      if (agent) Object.assign(agent, { input_tokens: event.input_tokens, output_tokens: event.output_tokens,
        context_tokens: event.context_tokens, context_max: event.context_max, cost_usd: event.cost_usd });
      break;
    case "agent_text_delta":
      if (agent?.said?.id === event.ask_id && !agent.said.blocks.length) agent.said.text += event.text;
      break;
    case "agent_tool":
      if (agent) agent.tool = event.status === "started" ? `${event.tool} ${event.summary}`.trim() : "";
      break;
    case "turn_started":
    case "turn_restarted":
      if (agent) {
        agent.said = { id: event.ask_id, text: "", blocks: [], over: false, at: event.at };
        agent.failed = "";
      }
      if (room) room.waiting_for_response = event.agent_id;
      if (room && event.heard) (room.hearing ??= {})[event.agent_id] = event.heard;
      break;
    case "turn_ended":
      if (agent) {
        agent.tool = "";
        agent.failed = event.outcome === "failed" ? event.detail || "failed" : "";
        if (agent.said?.id === event.ask_id) agent.said.over = true;
      }
      if (room && !room.auto) {
        room.failed = (room.failed ?? []).filter((/** @type {string} */ id) => id !== event.agent_id);
        if (event.outcome === "failed") room.failed.push(event.agent_id);
        else room.due = (room.due ?? []).filter((/** @type {string} */ id) => id !== event.agent_id);
      }
      if (room?.waiting_for_response === event.agent_id) room.waiting_for_response = null;
      if (room && (event.outcome === "answered" || event.outcome === "skipped")) {
        room.heard = { ...room.heard, [event.agent_id]: [...(room.heard?.[event.agent_id] ?? []), ...(room.hearing?.[event.agent_id] ?? [])] };
      }
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
      if (room) room.messages = room.messages.map((/** @type {any} */ one) => (one.id === event.message.id ? { ...one, ...event.message } : one));
      break;
    case "pending_added":
      if (room) {
        room.pending.push(event.message);
        const author = state.agents.get(event.message.author);
        if (author?.said && now - event.at < FRESH) Object.assign(author.said, { text: event.message.content, over: true, messageId: event.message.id, at: event.at });
      }
      break;
    case "room_outcome":
      if (room) room.outcome = event.message;
      break;
    case "pending_resolved":
      if (room) {
        const done = new Set([...event.accepted, ...event.dismissed]);
        room.pending = room.pending.filter((/** @type {any} */ one) => !done.has(one.id));
      }
      break;
    case "room_created":
      state.rooms.set(event.room_id, { room_id: event.room_id, name: event.name, agents: [], messages: [], pending: [], due: [], failed: [],
        auto: null, mode: "manual", settings: { ...state.options?.settings, ...event.settings }, end: null });
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
      if (room) Object.assign(room, { mode: "auto", end: null, outcome: null, auto: { topic: event.topic,
        startedAt: event.at, endsAt: event.endsAt, turns: 0, interactionPattern: event.interactionPattern,
        paused: null, retryAt: null } });
      break;
    case "autoModePaused":
      if (room?.auto) Object.assign(room.auto, { paused: event.reason, retryAt: event.retryAt, detail: event.detail });
      break;
    case "autoModeResumed":
      if (room?.auto) Object.assign(room.auto, { paused: null, retryAt: null, endsAt: event.endsAt });
      for (const id of room?.agents ?? []) if (state.agents.has(id)) state.agents.get(id).failed = "";
      break;
    case "autoModeEnded":
      if (room) Object.assign(room, { mode: "manual", end: event, lastTopic: room.auto?.topic,
        auto: null, next_response_at: null, waiting_for_response: null });
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
    case "agent_session": {
      const home = state.rooms.get(agent?.room_id);
      if (home) home.heard = { ...home.heard, [event.agent_id]: [] };
      break;
    }
    case "agent_speech":
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

/** Put older messages before those that are known. @param {any} room @param {any[]} older */
export function remembered(room, older) {
  const known = new Set(room.messages.map((/** @type {any} */ one) => one.id));
  room.messages = [...older.filter((one) => !known.has(one.id)), ...room.messages];
  room.oldest = older.length ? Math.min(room.oldest ?? Infinity, older[0].seq) : 0;
}

/** Whether an agent was told a message, or said it. @param {any} room @param {string} id @param {any} message */
export function hasHeard(room, id, message) {
  return message.author === id || (room.heard?.[id] ?? []).includes(message.id);
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
