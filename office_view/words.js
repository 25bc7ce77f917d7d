// @ts-check
/** Reasons, states and times in words. Pure. */

/** @type {Record<string, string>} */
const ENDS = {
  keyword: "They agree",
  timer: "Time is up",
  user: "Stopped",
  agent_exit: "Somebody is gone",
  all_skipped: "Nobody has anything to add",
  message_limit: "The limit of answers is reached",
  context_limit: "Conversation approaching model context limit",
  budget: "The budget is spent",
  error: "Something failed",
};

/** @type {Record<string, string>} */
const PAUSES = {
  failure: "paused after a failure",
  rate_limit: "rate limited",
  max_wait: "paused: no answer came",
  suspended: "suspended",
  nobody: "paused: everybody is paused",
};

/** Why a conversation ended, as a sentence, and by whom where that is somebody.
 * @param {{reason: string, turns: number, durationMs: number, detail?: string, endedBy?: string}} end
 * @param {Map<string, any>} [agents] */
export function whyEnded(end, agents) {
  const turns = end.turns === 1 ? "1 turn" : `${end.turns} turns`;
  const detail = end.detail && ["error", "agent_exit"].includes(end.reason) ? ` (${end.detail})` : "";
  const who = agents?.get(end.endedBy ?? "")?.name;
  const by = end.reason === "keyword" && who ? `; ${who} had the last word` : end.reason === "user" ? " by you, or another window" : "";
  return `${ENDS[end.reason] ?? end.reason}${detail}${by}. ${turns} in ${clock(end.durationMs)}.`;
}

/** Who is at work in a room, as `Name | Role thinking...`; nothing where nobody is.
 * @param {any} room @param {Map<string, any>} agents */
export function working(room, agents) {
  const busy = (room?.agents ?? []).map((/** @type {string} */ id) => agents.get(id)).filter((/** @type {any} */ one) => one?.asked);
  if (busy.length > 1) return `${busy.length} agents waiting to respond`;
  if (!busy.length) return "";
  const [one] = busy;
  const what = room.concluding === one.agent_id ? "writes the outcome..." : one.state === "speaking" ? "speaking..." : "thinking...";
  return `${one.name} | ${one.role} ${what}`;
}

/** 4:05 @param {number} ms */
export function clock(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** What goes on in a room, in a line.
 * @param {any} room @param {Map<string, any>} agents @param {number} now in seconds */
export function progress(room, agents, now) {
  if (!room) return "";
  const auto = room.auto;
  if (!auto) {
    if (room.pending?.length) return `${room.pending.length} pending`;
    return working(room, agents) ? "" : room.agents.length ? "Manual mode" : "";
  }
  if (auto.paused) {
    const wait = auto.retryAt ? ` · Retry in ${Math.max(0, Math.ceil(auto.retryAt - now))}s` : "";
    return auto.paused === "rate_limit" && auto.retryAt
      ? `Rate limited. Retry in ${Math.max(0, Math.ceil(auto.retryAt - now))}s`
      : `Auto mode ${PAUSES[auto.paused] ?? "paused"}${wait}`;
  }
  const parts = [`${clock((auto.endsAt - now) * 1000)} left`, `turn ${auto.turns + 1}`];
  if (room.next_response_at && !room.waiting_for_response) parts.push(`Next response in ${Math.max(0, Math.ceil(room.next_response_at - now))}s`);
  return parts.join(" · ");
}

const DOES = /** @type {Record<string, string>} */ ({ Read: "reads", Write: "writes", Edit: "edits", MultiEdit: "edits", NotebookEdit: "edits", Bash: "runs", Grep: "searches",
  Glob: "looks for", LS: "lists", WebFetch: "fetches", WebSearch: "searches the web", Task: "delegates" });

/** What somebody does with a tool, in a few words: "reads main.py". @param {string} tool its name and what with */
export function doing(tool) {
  const [name, ...rest] = tool.split(" ");
  const what = rest.join(" ").replace(/^\S*\/(?=[^/\s]+$)/, "");
  return `${DOES[name] ?? name} ${what}`.trim();
}

/** 12.3 MB @param {number} bytes */
export function size(bytes) {
  return bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** A conversation as a document. @param {any} room @param {Map<string, any>} agents */
export function markdown(room, agents) {
  const escape = (/** @type {string} */ text) => text.replace(/[\\`*_[\]<>#]/g, "\\$&").replaceAll("\n", " ");
  const parts = [`# ${escape(room.auto?.topic || room.topic || room.name)}`];
  if (room.outcome) parts.push("## Outcome", room.outcome.content, "## Conversation");
  for (const message of room.messages) {
    const role = agents.get(message.author)?.role;
    const out = message.active === false ? " *(taken out)*" : "";
    if (message.type === "agent") parts.push(`**${escape(message.author_name)}${role ? ` (${escape(role)})` : ""}:**${out}`, message.content);
    else if (message.author === "topic") parts.push(`> ${escape(message.content)}${out}`);
    else if (message.type === "user") parts.push(`**${escape(message.author_name)}:**${out}`, message.content);
    else parts.push(`*${escape(message.content)}*`);
  }
  if (room.end) parts.push(`*${whyEnded(room.end)}*`);
  return `${parts.join("\n\n")}\n`;
}
