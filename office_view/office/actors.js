// @ts-check
/** Everybody who is in the office, as they are at a moment: where, which way, doing what. Pure. */

import { TILE } from "./camera.js";
import { trying, wish } from "../words.js";
import { glance, pose } from "./life.js";
import { heading, whereabouts } from "./walk.js";

/** @typedef {{id: string, name: string, role: string, state: any, x: number, foot: number, left: number, top: number,
 *   facing: string, pose: import("./person.js").Pose, walking: boolean, sits: boolean, sort: number, room: string | null,
 *   working: boolean, thinking: boolean, tool: string, tries: string, waits: string, failed: string, asleep: boolean, leaving: boolean}} Actor */

const LEAN = 6;
const LEAN_BY = /** @type {Record<string, [number, number]>} */ ({ up: [0, -LEAN], down: [0, LEAN], left: [-LEAN, 0], right: [LEAN, 0] });

/** @param {any} state @param {import("./place.js").Plan} plan @param {number} now @param {boolean} calm
 * @returns {Actor[]} */
export function actors(state, plan, now, calm) {
  const all = [...state.agents.values(), ...state.leaving.values()];
  const chairs = chairsOf(plan);
  /** @type {Map<string, {x: number, y: number}>} */ const speakers = new Map();
  const places = new Map(all.map((agent) => [agent.agent_id, whereabouts(agent, calm ? Infinity : now)]));
  for (const agent of all) {
    if (agent.state === "speaking" && agent.room_id) speakers.set(agent.room_id, /** @type {any} */ (places.get(agent.agent_id)));
  }
  const found = [];
  for (const agent of all) {
    const here = /** @type {ReturnType<typeof whereabouts>} */ (places.get(agent.agent_id));
    const leaving = !state.agents.has(agent.agent_id);
    if (!here.begun || (leaving && here.arrived)) continue;
    found.push(actor(agent, here, leaving, chairs, speakers.get(agent.room_id), state.rooms.get(agent.room_id), now, calm));
  }
  return found;
}

/** @param {any} agent @param {ReturnType<typeof whereabouts>} here @param {boolean} leaving
 * @param {Map<string, {facing: string, desk: boolean}>} chairs @param {{x: number, y: number} | undefined} speaker
 * @param {any} room @param {number} now @param {boolean} calm @returns {Actor} */
function actor(agent, here, leaving, chairs, speaker, room, now, calm) {
  const chair = here.walking ? undefined : chairs.get(`${here.x},${here.y}`);
  const tool = agent.tool ?? "";
  const tries = agent.tries ? trying([agent.tries[0], agent.tries[1], ""]) : "";
  const [permission] = agent.permissions ?? [];
  const waits = permission ? wish(permission) : "";
  const working = Boolean(tool) && !waits;
  const body = { walking: here.walking, sits: Boolean(chair), atDesk: Boolean(chair?.desk), working, waves: leaving, waits: Boolean(waits) && !here.walking };
  let { facing } = here;
  if (!here.walking) {
    const listens = speaker && agent.state !== "speaking" && room?.auto && (speaker.x !== here.x || speaker.y !== here.y);
    if (listens) facing = heading(here, speaker);
    else if (agent.state === "idle" && !calm) facing = glance(agent.name, facing, now, body.atDesk);
  }
  const [dx, dy] = chair ? LEAN_BY[chair.facing] : [0, 0];
  const x = here.x * TILE + TILE / 2 + dx;
  const foot = (here.y + 1) * TILE;
  const made = pose(agent.name, agent.state, body, now, calm);
  const low = chair?.facing === "down" && chair.desk ? -4 : 0;
  return {
    id: agent.agent_id, name: agent.name, role: agent.role, state: agent.state, x, foot, left: x - TILE / 2,
    top: foot + dy + low - 32, facing, pose: made, walking: here.walking, sits: Boolean(chair), sort: foot - 1, leaving,
    room: agent.room_id, working, tool, tries, waits, thinking: agent.state === "thinking" && !working, failed: agent.failed ?? "",
    asleep: agent.participating === false || Boolean(room?.auto?.paused),
  };
}

/** @type {WeakMap<object, Map<string, {facing: string, desk: boolean}>>} */
const known = new WeakMap();

/** Where one sits, and which way the seat looks. @param {import("./place.js").Plan} plan */
export function chairsOf(plan) {
  let found = known.get(plan);
  if (found) return found;
  found = new Map();
  for (const thing of plan.things) {
    if (thing.kind === "chair") {
      const [dx, dy] = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] }[thing.facing] ?? [0, 0];
      const desk = "DT".includes(plan.rows[thing.y + dy]?.[thing.x + dx] ?? " ");
      found.set(`${thing.x},${thing.y}`, { facing: thing.facing, desk });
    } else if (thing.kind === "sofa" || thing.kind === "armchair") {
      for (let x = thing.x; x < thing.x + thing.width; x++) found.set(`${x},${thing.y}`, { facing: "up", desk: false });
    }
  }
  known.set(plan, found);
  return found;
}
