// @ts-check
/** What is known, and how each event changes it. Pure: no document, no socket, no clock. */

const KEPT = 500;

/** @returns {any} an office in which nothing is known yet */
export function empty() {
  return { seq: 0, scope: "viewer", agents: new Map(), rooms: new Map(), tasks: new Map(), options: null, live: new Map() };
}

/** Take a welcome in: a whole picture, or the events that were missed.
 * @param {any} state @param {any} welcome @returns {any} */
export function welcomed(state, welcome) {
  if (!welcome.snapshot) {
    for (const event of welcome.events) applied(state, event);
    state.seq = welcome.seq;
    state.scope = welcome.scope;
    return state;
  }
  const { agents, rooms, tasks, options } = welcome.snapshot;
  const fresh = empty();
  for (const agent of agents) fresh.agents.set(agent.agent_id, agent);
  for (const room of rooms) fresh.rooms.set(room.room_id, room);
  for (const task of tasks) fresh.tasks.set(task.id, task);
  return { ...fresh, options, seq: welcome.seq, scope: welcome.scope };
}

/** Change the state by one frame; an event that was had before changes nothing.
 * @param {any} state @param {any} event */
export function applied(state, event) {
  if (event.seq !== undefined) {
    if (event.seq <= state.seq) return;
    state.seq = event.seq;
  }
  const agent = state.agents.get(event.agent_id ?? event.agentId);
  const room = state.rooms.get(event.room_id ?? event.roomId ?? event.message?.room_id);
  switch (event.type) {
    case "agent_spawned":
      state.agents.set(event.agent_id, {
        ...event, state: "idle", current_task: null, last_message: "", input_tokens: 0, output_tokens: 0,
      });
      if (room) room.agents.push(event.agent_id);
      break;
    case "agent_removed":
      state.agents.delete(event.agent_id);
      state.live.delete(event.agent_id);
      for (const any of state.rooms.values()) any.agents = any.agents.filter((/** @type {string} */ id) => id !== event.agent_id);
      break;
    case "agent_state_update":
      if (agent) Object.assign(agent, { state: event.state, position: event.position, current_task: event.current_task });
      break;
    case "agent_moved":
      if (agent) agent.position = event.path[event.path.length - 1];
      break;
    case "office_furnished":
      break;
    case "agentMessage":
      if (agent) agent.last_message = event.text;
      break;
    case "agent_usage":
      if (agent) Object.assign(agent, { input_tokens: event.input_tokens, output_tokens: event.output_tokens,
        context_tokens: event.context_tokens, context_max: event.context_max, cost_usd: event.cost_usd });
      break;
    case "agent_text_delta": {
      const live = state.live.get(event.agent_id);
      if (live && live.ask_id === event.ask_id) live.text += event.text;
      break;
    }
    case "turn_started":
    case "turn_restarted":
      state.live.set(event.agent_id, { ask_id: event.ask_id, room_id: event.room_id, text: "" });
      if (room) room.waiting_for_response = event.agent_id;
      break;
    case "turn_ended":
      state.live.delete(event.agent_id);
      if (room?.waiting_for_response === event.agent_id) room.waiting_for_response = null;
      if (room?.auto && (event.outcome === "answered" || event.outcome === "skipped")) room.auto.turns += 1;
      break;
    case "message_added":
      if (room) {
        room.messages.push(event.message);
        if (room.messages.length > KEPT) room.messages.shift();
        if (event.message.type === "agent") state.live.delete(event.message.author);
      }
      break;
    case "room_created":
      state.rooms.set(event.room_id, { room_id: event.room_id, name: event.name, agents: [], messages: [], auto: null,
        mode: "manual", settings: { ...state.options?.settings, ...event.settings }, end: null });
      break;
    case "room_closed":
      state.rooms.delete(event.room_id);
      break;
    case "room_updated":
      if (room) Object.assign(room, { mode: event.mode, agents: event.agents, current_index: event.current_index,
        waiting_for_response: event.waiting_for_response, next_response_at: event.next_response_at,
        settings: { ...state.options?.settings, ...event.settings } });
      break;
    case "autoModeStarted":
      if (room) Object.assign(room, { mode: "auto", end: null, auto: { topic: event.topic,
        startedAt: event.at, endsAt: event.endsAt, turns: 0, interactionPattern: event.interactionPattern,
        paused: null, retryAt: null } });
      break;
    case "autoModePaused":
      if (room?.auto) Object.assign(room.auto, { paused: event.reason, retryAt: event.retryAt });
      break;
    case "autoModeResumed":
      if (room?.auto) Object.assign(room.auto, { paused: null, retryAt: null, endsAt: event.endsAt });
      break;
    case "autoModeEnded":
      if (room) Object.assign(room, { mode: "manual", end: event, lastTopic: room.auto?.topic,
        auto: null, next_response_at: null, waiting_for_response: null });
      break;
    case "task_updated":
      if (event.task.status === "completed") state.tasks.delete(event.task.id);
      else state.tasks.set(event.task.id, event.task);
      break;
    case "agent_speech":
    case "agent_tool":
    case "agent_acknowledged":
    case "answer_held":
    case "keywordIgnored":
    case "context_warning":
    case "rate_limited":
    case "status":
      break;
    default:
      throw new Error(`There is no event ${event.type}`);
  }
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
