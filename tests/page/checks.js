// @ts-check
/** The pure parts of the page. */

import { actors } from "../../office_view/office/actors.js";
import { Utterance, holds as staysFor, overlaps, pages, place } from "../../office_view/office/bubbles.js";
import { Camera } from "../../office_view/office/camera.js";
import { Cat } from "../../office_view/office/cat.js";
import { pose } from "../../office_view/office/life.js";
import { look } from "../../office_view/office/look.js";
import { darkness, daytime } from "../../office_view/office/sky.js";
import { whereabouts } from "../../office_view/office/walk.js";
import { applied, around, empty, permissions, toast, unheard, welcomed } from "../../office_view/state.js";
import { activity, clock, doing, markdown, progress, trying, wanted, whyDenied, whyEnded, wish, working } from "../../office_view/words.js";
import { check, holds, same } from "./check.js";

const PATH = [{ x: 1, y: 1 }, { x: 2, y: 1 }, { x: 2, y: 2 }];
const WALK = { path: PATH, started_at: 100, ms_per_tile: 500, facing: "up" };

check("a walk is where it is at each moment, and looks where it goes", () => {
  same(whereabouts(WALK, 99).begun, false);
  same(whereabouts(WALK, 100.25), { x: 1.5, y: 1, facing: "right", walking: true, arrived: false, begun: true, share: 0.25 });
  same(whereabouts(WALK, 100.75).facing, "down");
  same(whereabouts(WALK, 101), { x: 2, y: 2, facing: "up", walking: false, arrived: true, begun: true, share: 1 });
  same(whereabouts({ ...WALK, path: [PATH[0]] }, 50).arrived, true);
});

check("text is paged in lines that fit, and nothing is lost", () => {
  const text = "one two three\nfour ".repeat(30) + "x".repeat(100) + " 😀".repeat(40);
  const all = pages(text);
  holds(all.every((page) => page.length <= 4 && page.every((line) => [...line].length <= 28)), "the measure");
  same(all.flat().join("").replaceAll(" ", ""), text.replaceAll(/\s/g, ""));
  same(pages(""), []);
  same(pages("  \n "), []);
});

check("a page stays long enough to be read", () => {
  same(staysFor(["short"]), 2.5);
  holds(staysFor(["x".repeat(100)]) > 4.4);
});

check("an utterance grows, turns its pages and goes", () => {
  const said = new Utterance("ask", 0);
  said.says("one", false);
  holds(said.reads(100), "it waits for more");
  said.says("word ".repeat(60), false);
  same(said.page, 0);
  let now = 100;
  while (said.page < said.pages.length - 1) { now += 10; holds(said.reads(now)); }
  said.says(said.text, true);
  holds(said.reads(now + 1));
  holds(!said.reads(now + 20), "it is over");
});

check("a very long speech is cut short in its bubble", () => {
  const said = new Utterance("ask", 0);
  for (let length = 0; length < 100_000; length += 500) said.says("word ".repeat(length / 5), false);
  holds(said.pages.length < 30);
  holds(said.pages.flat().join(" ").endsWith("(the rest is in the conversation)"));
});

check("bubbles neither cover each other nor leave the view", () => {
  for (let seed = 0; seed < 60; seed++) {
    const wanted = Array.from({ length: 1 + (seed % 9) }, (_, n) => ({ id: `a${n}`, x: (seed * 131 + n * 97) % 900, y: (seed * 57 + n * 71) % 700,
      width: 90 + ((seed * n * 13) % 140), height: 40 + ((n * 29) % 50), born: n }));
    const view = { width: 900, height: 700 };
    const placed = place(wanted, view, { width: 34, height: 22 });
    for (const [at, one] of placed.entries()) {
      holds(one.left >= 0 && one.top >= 0 && one.left + one.width <= 900 && one.top + one.height <= 700, "inside");
      for (const other of placed.slice(at + 1)) holds(!overlaps(one, other), "apart");
    }
    holds(placed.filter((one) => !one.small).length <= 3, "three at once");
    same(placed[0].id, `a${wanted.length - 1}`);
  }
});

check("the same name is the same person, and the cast is easily told apart", () => {
  same(look("Ada"), look("ada"));
  const cast = ["Ada", "Bo", "Cy", "Dee", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jo", "Kit", "Lea"];
  const seen = new Set(cast.map((name) => { const l = look(name); return `${l.hair} ${l.hairColour} ${l.top}`; }));
  same(seen.size, 12);
});

check("the view shows all, keeps what is under the pointer, and is never lost", () => {
  const camera = new Camera();
  camera.resize(894, 756, 1);
  camera.furnish(27, 19);
  same(camera.zoom, 2);
  camera.resize(1540, 1036, 1);
  same(camera.zoom, 3);
  const before = camera.toOffice(300, 200);
  camera.zoomBy(1, 300, 200);
  const after = camera.toOffice(300, 200);
  holds(Math.abs(before.x - after.x) < 1 && Math.abs(before.y - after.y) < 1, "the place");
  camera.pan(99999, 99999);
  holds(camera.x < camera.width && camera.y < camera.height, "the corner");
  same([camera.zoom, camera.x, camera.y].every(Number.isInteger), true);
  camera.zoomBy(99);
  same(camera.zoom, 6);
});

check("the day has its times", () => {
  same([3, 6, 12, 19, 23].map(daytime), ["night", "dawn", "day", "dusk", "night"]);
  same([darkness(12), darkness(23), darkness(3)], [0, 1, 1]);
  holds(darkness(19) > 0 && darkness(19) < 1);
});

const PLAN = { width: 7, height: 6, rows: ["#E#####", "#..c..#", "#..DD.#", "#....~#", "#.....#", "#######"],
  things: [{ kind: "chair", x: 3, y: 1, width: 1, height: 1, facing: "down" }, { kind: "cat bed", x: 5, y: 3, width: 1, height: 1, facing: "down" }],
  seats: [{ x: 3, y: 1, facing: "down" }], door: { x: 1, y: 0 } };

check("the cat is somewhere sensible at any time, and everybody sees the same one", () => {
  const [one, other] = [new Cat(PLAN), new Cat(PLAN)];
  for (let now = 0; now < 4000; now += 7.3) {
    const at = one.at(now);
    same(at, other.at(now));
    holds(at && at.x >= 1 && at.x <= 5 && at.y >= 1 && at.y <= 4, "inside");
  }
  holds(one.at(1e6), "later");
});

/** @param {any} fields */
const agentOf = (fields) => ({ agent_id: "a", name: "Ada", role: "x", state: "idle", room_id: "r", path: [{ x: 3, y: 1 }], started_at: 0,
  ms_per_tile: 300, facing: "down", ...fields });

check("people sit on chairs, listen to the speaker, and come when it is their time", () => {
  const state = empty();
  state.rooms.set("r", { auto: {} });
  state.agents.set("a", agentOf({}));
  state.agents.set("b", agentOf({ agent_id: "b", name: "Bo", state: "speaking", path: [{ x: 1, y: 1 }] }));
  state.agents.set("c", agentOf({ agent_id: "c", name: "Cy", started_at: 1e9, path: [{ x: 1, y: 0 }, { x: 1, y: 1 }] }));
  const [ada, bo, ...others] = actors(state, PLAN, 50, false);
  same([ada.sits, ada.facing, bo.sits, others.length], [true, "left", false, 0]);
  same(bo.pose.legs, "stand");
  state.agents.get("a").participating = false;
  same(actors(state, PLAN, 50, true)[0].asleep, true);
});

check("with reduced motion nobody moves", () => {
  const body = { walking: false, sits: true, atDesk: true, working: false, waves: false };
  for (const doing of /** @type {const} */ (["idle", "listening", "thinking", "speaking"])) {
    const first = pose("Ada", doing, body, 0, true);
    for (let now = 0; now < 60; now += 0.37) same(pose("Ada", doing, body, now, true), first);
  }
  const idle = new Set();
  for (let now = 0; now < 120; now += 0.1) idle.add(JSON.stringify(pose("Ada", "idle", body, now, false)));
  holds(idle.size > 3, "life otherwise");
});

const WELCOME = { seq: 5, scope: "operator", time: 1000, snapshot: { agents: [agentOf({ last_message: "" })], leaving: [], tasks: [],
  rooms: [{ room_id: "r", name: "R", agents: ["a"], messages: [], auto: null, end: null }], options: { settings: { keyword: "K" } }, office: PLAN } };

/** @param {...any} events */
function after(...events) {
  const state = welcomed(empty(), structuredClone(WELCOME));
  events.forEach((event, at) => applied(state, { seq: 6 + at, at: 1000 + at, ...event }));
  return state;
}

check("words stream into a bubble, and the transcript's text replaces them", () => {
  const state = after({ type: "turn_started", agent_id: "a", room_id: "r", ask_id: "k" });
  const said = () => state.agents.get("a").said;
  applied(state, { type: "agent_text_delta", agent_id: "a", text: "Hel", ask_id: "k" });
  applied(state, { type: "agent_text_delta", agent_id: "a", text: "lo", ask_id: "k" });
  applied(state, { type: "agent_text_delta", agent_id: "a", text: "late", ask_id: "other" });
  same(said().text, "Hello");
  applied(state, { type: "agentMessage", agentId: "a", text: "Hello!", messageId: "k:1", roomId: "r", seq: 7, at: 1001 });
  applied(state, { type: "agent_text_delta", agent_id: "a", text: "late", ask_id: "k" });
  same([said().text, said().over, state.agents.get("a").last_message], ["Hello!", false, "Hello!"]);
  const message = { id: "m", room_id: "r", type: "agent", author: "a", author_name: "Ada", content: "Hello! Bye.", at: 1002 };
  applied(state, { type: "message_added", message, seq: 8, at: 1002 });
  same([said().text, said().over, said().messageId], ["Hello! Bye.", true, "m"]);
});

check("what is had already changes nothing, and old words make no bubble", () => {
  const state = after({ type: "room_created", room_id: "r2", name: "x", settings: {} });
  applied(state, { type: "room_closed", room_id: "r2", seq: 6, at: 1 });
  same(state.rooms.size, 2);
  const missed = { seq: 9, scope: "operator", time: 2000, events: [{ type: "agentMessage", agentId: "a", text: "long ago", messageId: "k:1", roomId: "r", seq: 9, at: 1000 }] };
  welcomed(state, missed);
  same([state.agents.get("a").last_message, state.agents.get("a").said, state.seq], ["long ago", undefined, 9]);
});

check("who leaves is seen leaving", () => {
  const state = after({ type: "agent_moved", agent_id: "a", path: PATH, started_at: 1000, ms_per_tile: 300, facing: "up", reason: "leaves" },
    { type: "agent_removed", agent_id: "a", reason: "terminated" });
  same([state.agents.size, state.leaving.size, state.rooms.get("r").agents.length], [0, 1, 0]);
  same(actors(state, PLAN, 1000.1, false).length, 1);
  same(actors(state, PLAN, 1100, false).length, 0);
});

check("tools, failures and the end", () => {
  const state = after({ type: "agent_tool", agent_id: "a", tool: "Read", status: "started", summary: "main.py" });
  same(state.agents.get("a").tool, "Read main.py");
  applied(state, { type: "autoModeStarted", roomId: "r", topic: "T", endsAt: 1300, interactionPattern: "p", seq: 7, at: 1001 });
  applied(state, { type: "turn_ended", agent_id: "a", room_id: "r", ask_id: "k", outcome: "failed", detail: "no", seq: 8, at: 1002 });
  same([state.agents.get("a").tool, state.agents.get("a").failed], ["", "no"]);
  same(progress(state.rooms.get("r"), state.agents, 1000), "5:00 left · turn 1");
  applied(state, { type: "autoModeEnded", roomId: "r", reason: "keyword", turns: 3, durationMs: 65000, endedBy: "a", seq: 9, at: 1003 });
  same(whyEnded(state.rooms.get("r").end), "They agree. 3 turns in 1:05.");
  same(state.agents.get("a").failed, "");
  same(toast(state, { type: "keywordIgnored", agentId: "a", minTurns: 4 }), "Ada wants to end it before turn 4: ignored");
});

check("what goes on inside is seen until something comes of it", () => {
  const state = after({ type: "agent_thought", agent_id: "a", text: "Hm. ".repeat(200), thought_id: "t" });
  same(state.agents.get("a").thought.length, 300);
  applied(state, { type: "agent_retry", agent_id: "a", attempt: 2, max_retries: 5, delay_ms: 900, reason: "overloaded", retry_id: "", seq: 7, at: 1001 });
  same(activity(state.agents.get("a")), "thinking, tries again, 2 of 5 (overloaded)".replace("thinking", state.agents.get("a").state));
  same(actors(state, PLAN, 1001, true)[0].tries, "tries again, 2 of 5");
  same(trying([0, 0, "unknown"]), "tries again");
  applied(state, { type: "agent_tool", agent_id: "a", tool: "Read", status: "started", summary: "main.py", seq: 8, at: 1002 });
  same(activity(state.agents.get("a")), `${state.agents.get("a").state}, reads main.py`);
  applied(state, { type: "agent_compacted", agent_id: "a", before_tokens: 9, compaction_id: "c", seq: 9, at: 1003 });
  same(state.seq, 9);
});

check("an event of a newer server changes nothing", () => {
  const state = after({ type: "surprise" });
  same([state.seq, state.agents.size], [6, 1]);
});

check("who leaves a room is in none, and who comes late hears what is being said", () => {
  const state = after({ type: "room_updated", room_id: "r", mode: "manual", agents: [], settings: {}, due: [], mentioned: [] });
  same(state.agents.get("a").room_id, null);
  const late = structuredClone(WELCOME);
  late.snapshot.agents[0].said = { id: "k", text: "Half a sen" };
  const seen = welcomed(empty(), late);
  applied(seen, { type: "agent_text_delta", agent_id: "a", text: "tence", ask_id: "k" });
  same(seen.agents.get("a").said.text, "Half a sentence");
});

check("a conversation as a document keeps words as words", () => {
  const room = { name: "R", topic: "<b>*Tabs*</b>", messages: [{ type: "agent", author: "a", author_name: "Ada", content: "yes" }], end: null };
  same(markdown(room, new Map([["a", { role: "x" }]])), "# \\<b\\>\\*Tabs\\*\\</b\\>\n\n**Ada (x):**\n\n> yes\n");
  room.messages[0].content = "# Outcome\n![x](http://a)\n\n**Bo:** <b>&lt;\u202e\u001b[2J\n1. a";
  same(markdown(room, new Map()).split("**Ada:**\n\n")[1],
    "> \\# Outcome\\\n> !\\[x\\](http://a)\n> \n> \\*\\*Bo:\\*\\* \\<b\\>\\&lt;\\[2J\\\n> 1\\. a\n");
  same([clock(0), clock(59400), clock(65000)], ["0:00", "0:59", "1:05"]);
});

check("what an agent was told is known, also when it is changed meanwhile", () => {
  const state = empty();
  state.rooms.set("r", { room_id: "r", agents: ["a", "b"], messages: [], pending: [], heard: {} });
  for (const id of ["a", "b"]) state.agents.set(id, { agent_id: id, room_id: "r", states: [] });
  let seq = 0;
  const tell = (/** @type {any} */ event) => applied(state, { ...event, seq: ++seq, at: seq });
  const message = (/** @type {string} */ id, author = "player_0", active = true) => ({ id, room_id: "r", type: "user", author, author_name: "You", content: id, active });
  const missing = (/** @type {string} */ id) => [...unheard(state.rooms.get("r"), id)];
  tell({ type: "message_added", message: message("m1") });
  tell({ type: "turn_started", agent_id: "a", room_id: "r", ask_id: "q", heard: ["m1"] });
  tell({ type: "message_added", message: message("m2") });
  same(missing("a"), ["m1", "m2"]);
  tell({ type: "turn_ended", agent_id: "a", room_id: "r", ask_id: "q", outcome: "answered" });
  same(missing("a"), ["m2"]);
  same(missing("b"), ["m1", "m2"]);
  tell({ type: "message_updated", message: message("m1", "player_0", false) });
  same(missing("a"), ["m2"]);
  tell({ type: "agent_session", agent_id: "a", session_id: "s" });
  same(missing("a"), ["m1", "m2"]);
});

check("what is said in passing makes a bubble and is kept, and a switch is a switch", () => {
  const state = empty();
  state.agents.set("a", { agent_id: "a", name: "Ada", room_id: null, states: [] });
  applied(state, { type: "agent_speech", seq: 1, at: 10, agent_id: "a", content: "Coffee?", recipients: ["b"], room_id: null });
  same(state.agents.get("a").said.text, "Coffee?");
  same(around(state).messages.map((/** @type {any} */ one) => [one.author_name, one.content]), [["Ada", "Coffee?"]]);
  applied(state, { type: "agent_decision", seq: 2, at: 11, agent_id: "a", action: "move", target: "Bo", outcome: "answered" });
  same(state.agents.get("a").chose.length, 1);
  applied(state, { type: "decision_loop", seq: 3, at: 12, agent_id: "a", on: false });
  applied(state, { type: "decision_loop", seq: 4, at: 13, on: false });
  same([state.agents.get("a").decides, state.decides], [false, false]);
});

/** @param {string} id @param {number} until */
const asks = (id, until, agent_id = "a") => ({ type: "permission_asked", agent_id, room_id: "r", permission: { id, tool: "Bash", summary: `make ${id}`, until, cli_id: id } });

check("a permission is asked for until it is resolved, and who comes late sees it as well", () => {
  const state = after(asks("p1", 1060), asks("p2", 1030));
  const ids = () => permissions(state).map(({ agent, permission }) => `${agent.name} ${permission.id}`);
  same(ids(), ["Ada p2", "Ada p1"]);
  same(activity(state.agents.get("a")), "idle, asks for a permission");
  applied(state, { type: "permission_resolved", agent_id: "a", permission_id: "p2", allowed: true, by: "player_0", seq: 8, at: 1001 });
  applied(state, { type: "permission_resolved", agent_id: "a", permission_id: "p2", allowed: true, by: "player_0", seq: 9, at: 1001 });
  same([ids(), state.agents.get("a").denied], [["Ada p1"], undefined]);
  applied(state, { type: "permission_resolved", agent_id: "gone", permission_id: "p1", allowed: true, by: "player_0", seq: 10, at: 1001 });
  same(ids(), ["Ada p1"]);
  applied(state, { type: "agent_removed", agent_id: "a", reason: "terminated", seq: 11, at: 1002 });
  same(ids(), []);
  const late = structuredClone(WELCOME);
  late.snapshot.agents[0].permissions = [asks("p3", 1060).permission];
  same(permissions(welcomed(empty(), late)).map(({ permission }) => permission.id), ["p3"]);
  applied(state, { ...asks("p4", 1060), seq: 12, at: 1003 });  // of somebody who is gone
  same(ids(), []);
});

check("what was denied because nobody was there is told until the next turn", () => {
  const over = (/** @type {string} */ by) => ({ type: "permission_resolved", agent_id: "a", permission_id: "p1", allowed: false, by });
  for (const [by, told] of [["timeout", 1], ["nobody", 1], ["player_0", 0], ["withdrawn", 0]]) {
    const state = after(asks("p1", 1060), over(/** @type {string} */ (by)));
    const { denied } = state.agents.get("a");
    same(denied?.length ?? 0, told);
    if (by === "timeout") same(whyDenied("Ada", denied[0]), "Denied: nobody answered. Ada wanted to run make p1");
    if (by === "nobody") same(whyDenied("Ada", denied[0]), "Denied: nobody could be asked. Ada wanted to run make p1");
    applied(state, { type: "turn_started", agent_id: "a", room_id: "r", ask_id: "k", seq: 8, at: 1003 });
    same(state.agents.get("a").denied, []);
    same(working(state.rooms.get("r"), state.agents), "Ada | x thinking...");
  }
});

check("who works at a desk types, also in the middle of a turn to speak, and who waits raises a hand", () => {
  const state = empty();
  state.agents.set("a", agentOf({ state: "speaking", tool: "Bash npm test" }));
  const ada = (/** @type {number} */ now, calm = false) => actors(state, PLAN, now, calm)[0];
  same([ada(50).working, ada(50).sits], [true, true]);
  same(new Set([0, 0.3, 0.6, 0.9].map((now) => ada(50 + now).pose.arms)).size, 2);
  holds([0, 0.3, 0.6].every((now) => ada(50 + now).pose.arms.startsWith("type") && ada(50 + now).pose.mouth === "closed"), "typing");
  same(ada(50, true).pose.arms, "type1");
  state.agents.get("a").permissions = [asks("p1", 60).permission];
  for (const calm of [true, false]) same([ada(50, calm).waits, ada(50, calm).working, ada(50, calm).pose.arms], ["run make p1", false, "wave"]);
  state.agents.get("a").permissions = [];
  state.agents.get("a").path = [{ x: 2, y: 4 }];
  same([ada(50).sits, ada(50).pose.arms.startsWith("type")], [false, false]);
});

check("what a tool does is said in plain words, whatever its name", () => {
  const says = /** @type {Record<string, string>} */ ({
    "Bash npm test": "runs npm test", "execute npm test": "runs npm test", "exec_command ls -l": "runs ls -l", "shell rm -rf /tmp/a/b": "runs rm -rf /tmp/a/b",
    "run_shell_command ls": "runs ls", "Read /home/me/my shop/main.py": "reads main.py", "read src/a.py": "reads src/a.py", "edit src/a.py": "edits src/a.py",
    "apply_patch src/a.py": "edits src/a.py", "Write /a/b.md": "writes b.md", "Grep TODO": "searches TODO", "search TODO": "searches TODO", "Glob **/*.py": "looks for **/*.py",
    Glob: "looks for files", "WebFetch https://example.org/a": "fetches example.org/a", "fetch example.org": "fetches example.org", "WebSearch tabs": "searches the web for tabs",
    "think About it": "thinks", TodoWrite: "plans", "update_plan x": "plans", "Task look around": "delegates look around", "delete a.py": "deletes a.py", "move a.py": "moves a.py",
    "mcp__tracker__create_issue Tabs": "uses tracker create_issue Tabs", "Skill pdf": "uses Skill pdf", "other this": "uses a tool: this", tool: "uses a tool", "constructor x": "uses constructor x",
  });
  for (const [tool, words] of Object.entries(says)) same(doing(tool), words);
});

check("a permission says what for, and nothing hides in a command", () => {
  const asked = (/** @type {string} */ tool, summary = "") => ({ tool, summary });
  same(wanted(asked("Bash", "cat /etc/hosts")), { verb: "run", what: "cat /etc/hosts" });
  same(wanted(asked("edit", "/home/me/a.py")), { verb: "edit", what: "/home/me/a.py" });
  same(["command", "file change", "more rights", "other", "mcp__a__b"].map((tool) => wish(asked(tool, "x"))), ["run x", "edit x", "have more rights x", "use a tool: x", "use a b x"]);
  same(wish(asked("Write", "main.py\ncontent: import os")), "write main.py …");
  same(wish(asked("Bash", "x".repeat(200))), `run ${"x".repeat(120)} …`);
  same(wanted(asked("Bash", "ls \u202emr\u200b\n#\u0007")).what, "ls \\u{202e}mr\\u{200b}\n#\\u{7}");
  same(doing("Bash ls \u202e"), "runs ls \\u{202e}");
});
