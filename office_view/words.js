// @ts-check
/** Reasons, states and times in words. Pure. */

/** @type {Record<string, string>} */
const ENDS = {
  keyword: "They agree: the conversation is over",
  timer: "Time is up",
  user: "Stopped",
  agent_exit: "Somebody is gone",
  all_skipped: "Nobody has anything to add",
  message_limit: "So many answers were asked for",
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

/** Why a conversation ended, as a sentence.
 * @param {{reason: string, turns: number, durationMs: number, detail?: string}} end */
export function whyEnded(end) {
  const turns = end.turns === 1 ? "1 turn" : `${end.turns} turns`;
  const detail = end.detail && ["error", "agent_exit"].includes(end.reason) ? ` (${end.detail})` : "";
  return `${ENDS[end.reason] ?? end.reason}${detail}. ${turns} in ${clock(end.durationMs)}.`;
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
    const busy = room.agents.map((/** @type {string} */ id) => agents.get(id)).filter((/** @type {any} */ one) => one && one.state !== "idle");
    if (busy.length) return busy.length === 1 ? `${busy[0].name} | ${busy[0].role} thinking...` : `${busy.length} agents waiting to respond`;
    if (room.pending?.length) return `${room.pending.length} pending`;
    return room.agents.length ? "Manual mode" : "";
  }
  if (auto.paused) {
    const wait = auto.retryAt ? ` · Retry in ${Math.max(0, Math.ceil(auto.retryAt - now))}s` : "";
    return auto.paused === "rate_limit" && auto.retryAt
      ? `Rate limited. Retry in ${Math.max(0, Math.ceil(auto.retryAt - now))}s`
      : `Auto mode ${PAUSES[auto.paused] ?? "paused"}${wait}`;
  }
  const parts = [`${clock((auto.endsAt - now) * 1000)} left`, `turn ${auto.turns + 1}`];
  const waiting = agents.get(room.waiting_for_response);
  if (waiting) parts.push(`${waiting.name} ${waiting.state === "idle" ? "is next" : waiting.state}`);
  else if (room.next_response_at) parts.push(`Next response in ${Math.max(0, Math.ceil(room.next_response_at - now))}s`);
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
  const parts = [`# ${escape(room.lastTopic ?? room.auto?.topic ?? room.name)}`];
  if (room.outcome) parts.push("## Outcome", room.outcome.content, "## Conversation");
  for (const message of room.messages) {
    const role = agents.get(message.author)?.role;
    if (message.type === "agent") parts.push(`**${escape(message.author_name)}${role ? ` (${escape(role)})` : ""}:**`, message.content);
    else if (message.author === "topic") parts.push(`> ${escape(message.content)}`);
    else if (message.type === "user") parts.push(`**${escape(message.author_name)}:**`, message.content);
    else parts.push(`*${escape(message.content)}*`);
  }
  if (room.end) parts.push(`*${whyEnded(room.end)}*`);
  return `${parts.join("\n\n")}\n`;
}
