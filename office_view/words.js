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
  const what = one.permissions?.length ? "asks for a permission" : room.concluding === one.agent_id ? "writes the outcome..."
    : one.state === "speaking" ? "speaking..." : "thinking...";
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

/** What tools are for, whatever they are called; their names without case and signs. */
const VERBS = new Map(Object.entries({
  run: "bash shell localshell powershell terminal exec execcommand execute command runcommand runshellcommand",
  read: "read readfile readmanyfiles view viewimage notebookread",
  edit: "edit multiedit editfile notebookedit applypatch patch replace filechange",
  write: "write writefile createfile",
  delete: "delete deletefile",
  move: "move movefile",
  list: "ls list listdir listdirectory",
  search: "grep search grepsearch searchfilecontent codesearch",
  "look for": "glob findfiles filesearch",
  "search the web for": "websearch googlewebsearch",
  fetch: "fetch webfetch",
  think: "think",
  plan: "todowrite todoread updateplan writetodos",
  delegate: "task agent spawnagent",
  "have more rights": "morerights",
}).flatMap(([verb, names]) => names.split(" ").map((name) => /** @type {[string, string]} */ ([name, verb]))));
const FILES = ["read", "edit", "write", "delete", "move", "list"];

/** What a tool is used for: a verb, with the name of the tool where that has to do. @param {string} name */
function purpose(name) {
  const bare = name.toLowerCase().replace(/[^a-z]/g, "");
  if (!bare || bare === "other" || bare === "tool") return "use a tool";
  return VERBS.get(bare) ?? `use ${plain(name).replace(/^mcp__/, "").replaceAll("__", " ")}`;
}

/** Signs that cannot be seen, or turn others around, are named: a command must look like what it is. @param {string} text */
export function plain(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (sign) => (sign === "\n" || sign === "\t" ? sign : `\\u{${sign.codePointAt(0)?.toString(16)}}`));
}

/** What somebody does with a tool, in a few words: "reads main.py". @param {string} tool its name and what with */
export function doing(tool) {
  const [name, ...rest] = tool.split(" ");
  const verb = purpose(name);
  let what = plain(rest.join(" "));
  if (FILES.includes(verb)) what = what.replace(/^[/~].*\/(?=[^/]+\/?$)/, "");
  if (verb === "fetch") what = what.replace(/^https?:\/\//, "");
  if (verb === "think" || verb === "plan") what = "";
  if (!what && verb.endsWith(" for")) what = verb === "look for" ? "files" : "something";
  return verb.replace(/^\S*/, (word) => (word === "have" ? "has" : /(ch|sh)$/.test(word) ? `${word}es` : `${word}s`)) + withWhat(verb, what);
}

const WHY = new Map([["rate_limit", "rate limited"], ["overloaded", "overloaded"], ["network", "no connection"], ["server", "a fault of the API's"],
  ["authentication", "not let in"]]);

/** A CLI that tries again by itself: which try of how many, and why. @param {[number, number, string]} tries */
export function trying([attempt, most, reason]) {
  const count = attempt ? `, ${attempt}${most ? ` of ${most}` : ""}` : "";
  return `tries again${count}${WHY.has(reason) ? ` (${WHY.get(reason)})` : ""}`;
}

/** What somebody is at: the state, and what with. @param {any} agent */
export function activity(agent) {
  const what = agent.permissions?.length ? "asks for a permission" : agent.tries ? trying(agent.tries) : agent.tool ? doing(agent.tool) : "";
  return agent.state + (what && `, ${what}`);
}

/** What somebody may not do unasked: in words, and with what. @param {{tool: string, summary: string}} permission */
export function wanted(permission) {
  return { verb: purpose(permission.tool), what: plain(permission.summary) };
}

const WISH = 120;

/** The same in one line: "run npm test". @param {{tool: string, summary: string}} permission */
export function wish(permission) {
  const { verb, what } = wanted(permission);
  const [first, ...rest] = what.split("\n");
  const cut = first.length > WISH ? `${first.slice(0, WISH)} …` : rest.length ? `${first} …` : first;
  return verb + withWhat(verb, cut);
}

/** @param {string} verb @param {string} what */
const withWhat = (verb, what) => what && `${verb === "use a tool" ? ":" : ""} ${what}`;

/** Why something was denied, where nobody did that. @param {string} name whose it was @param {{tool: string, summary: string, by: string}} denied */
export function whyDenied(name, denied) {
  return `Denied: ${denied.by === "timeout" ? "nobody answered" : "nobody could be asked"}. ${name} wanted to ${wish(denied)}`;
}

/** 12.3 MB @param {number} bytes */
export function size(bytes) {
  return bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Words without what turns their order around. @param {string} text */
const clean = (text) => text.replaceAll("\r\n", "\n").replace(/[^\P{C}\n\t\u200c\u200d]|[\u2028\u2029]/gu, "");
/** Text that stays text in a line of Markdown. @param {string} text */
const escape = (text) => clean(text).trim().replace(/\s+/g, " ").replace(/[\\`*_[\]<>#&|~]/g, "\\$&").replace(/^(\d*)([-+=.)])/, "$1\\$2");

/** Words of several lines, in a quotation, so that none passes for a headline or for somebody else's. @param {string} text */
function quoted(text) {
  const lines = clean(text).split("\n").map(escape);
  return lines.map((line, n) => `> ${line}${line && lines[n + 1] ? "\\" : ""}`).join("\n");
}

/** A conversation as a document. @param {any} room @param {Map<string, any>} agents */
export function markdown(room, agents) {
  const parts = [`# ${escape(room.auto?.topic || room.topic || room.name)}`];
  if (room.outcome) parts.push("## Outcome", quoted(room.outcome.content), "## Conversation");
  for (const message of room.messages) {
    const role = agents.get(message.author)?.role;
    const out = message.active === false ? " *(taken out)*" : "";
    if (message.type === "agent") parts.push(`**${escape(message.author_name)}${role ? ` (${escape(role)})` : ""}:**${out}`, quoted(message.content));
    else if (message.author === "topic") parts.push(`> ${escape(message.content)}${out}`);
    else if (message.type === "user") parts.push(`**${escape(message.author_name)}:**${out}`, quoted(message.content));
    else parts.push(`*${escape(message.content)}*`);
  }
  if (room.end) parts.push(`*${whyEnded(room.end)}*`);
  return `${parts.join("\n\n")}\n`;
}
