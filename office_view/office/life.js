// @ts-check
/** What somebody does with their body at a moment: walking, typing, thinking, talking, and the small motions of being
 * there. Pure: out of state, time and name, so that every viewer sees the same. */

import { chance, hash } from "./chance.js";

/** @typedef {import("./person.js").Pose} Pose */
/** @typedef {"idle" | "listening" | "thinking" | "speaking"} State */

const WALK = /** @type {Pose["legs"][]} */ (["step1", "stand", "step2", "stand"]);
const SWING = ["swing1", "down", "swing2", "down"];
const STEP_SECONDS = 0.15;
const TYPE_SECONDS = 0.3;

/** @param {string} name @param {State} state @param {{walking: boolean, sits: boolean, atDesk: boolean, working: boolean,
 *   waves: boolean, waits?: boolean}} here @param {number} now @param {boolean} calm without motion @returns {Pose} */
export function pose(name, state, here, now, calm) {
  const legs = here.sits ? "sit" : "stand";
  /** @type {Pose} */
  const rest = { legs, arms: "down", eyes: "open", mouth: "closed" };
  if (here.waits) return { ...rest, arms: "wave", eyes: !calm && blinks(name, now) ? "closed" : "open" };
  const types = here.working && here.atDesk && here.sits;
  if (calm) {
    if (types) return { ...rest, arms: "type1" };
    if (state === "thinking") return { ...rest, arms: "chin" };
    if (state === "speaking") return { ...rest, arms: "raise", mouth: "open" };
    return rest;
  }
  const shift = chance(name) * 10;
  const eyes = blinks(name, now) ? "closed" : "open";
  if (here.walking) {
    const step = Math.floor((now + shift) / STEP_SECONDS) % 4;
    return { legs: WALK[step], arms: here.waves ? "wave" : SWING[step], eyes, mouth: "closed", lift: step % 2 };
  }
  const beat = Math.floor((now + shift) / TYPE_SECONDS);
  if (types) return { ...rest, eyes, arms: beat % 2 ? "type1" : "type2" };  // also while its turn to speak goes on
  if (state === "speaking") {
    const open = hash(`${name} says ${Math.floor((now + shift) / 0.16)}`) % 3 > 0;
    const arms = hash(`${name} moves ${Math.floor((now + shift) / 1.1)}`) % 2 ? "raise" : "down";
    return { ...rest, eyes, mouth: open ? "open" : "closed", arms };
  }
  if (state === "thinking") return { ...rest, eyes, arms: "chin" };
  if (state === "listening") return { ...rest, eyes, lift: nods(name, now) ? -1 : 0 };
  const doing = pastime(name, now, here.atDesk && here.sits);
  if (doing === "type") return { ...rest, eyes, arms: beat % 2 ? "type1" : "type2" };
  if (doing === "sip") return { ...rest, eyes, arms: "sip" };
  if (doing === "stretch") return { ...rest, eyes: "closed", arms: "up" };
  return { ...rest, eyes };
}

/** Which way an idle head is turned, if not where the body looks. @param {string} name @param {string} facing
 * @param {number} now @param {boolean} atDesk */
export function glance(name, facing, now, atDesk) {
  if (pastime(name, now, atDesk) !== "look") return facing;
  const sides = facing === "left" || facing === "right" ? ["down", facing] : ["left", "right"];
  return sides[hash(`${name} glances ${Math.floor(now / 6)}`) % 2];
}

/** One small thing in every slot of a few seconds, out of step with everybody else.
 * @param {string} name @param {number} now @param {boolean} atDesk */
export function pastime(name, now, atDesk) {
  const slot = 4 + chance(`${name} slot`) * 3;
  const at = (now + chance(name) * 60) / slot;
  const draw = chance(`${name} does ${Math.floor(at)}`);
  const part = at - Math.floor(at);
  if (atDesk && draw < 0.5) return part < 0.75 ? "type" : "rest";
  if (draw < 0.62) return part > 0.2 && part < 0.5 ? "look" : "rest";
  if (draw < 0.72) return part > 0.2 && part < 0.55 ? "sip" : "rest";
  if (draw < 0.77) return part > 0.3 && part < 0.55 ? "stretch" : "rest";
  return "rest";
}

/** @param {string} name @param {number} now */
export function blinks(name, now) {
  const slot = 2.6 + chance(`${name} blinks`) * 2.5;
  const at = (now + chance(name) * 30) / slot;
  return (at - Math.floor(at)) * slot < 0.13;
}

/** @param {string} name @param {number} now */
export function nods(name, now) {
  const at = (now + chance(name) * 30) / 5;
  return (at - Math.floor(at)) * 5 < 0.25;
}
