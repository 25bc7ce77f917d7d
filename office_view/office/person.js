// @ts-check
/** Frames of people, put together from their parts and kept. */

import { BOTTOMS, HAIRS, SKINS, TOPS } from "../art/palette.js";
import { ARMS, BEARD, FACE, GLASSES, HAIR, HEAD, HEADPHONES, LEGS, TORSO, WORN } from "../art/people.js";
import { mirrored, Pixels, tint } from "../art/pixels.js";
import { look } from "./look.js";

/** @typedef {import("../art/pixels.js").Picture} Picture */
/** @typedef {{legs: "stand" | "step1" | "step2" | "sit", arms: string, eyes: "open" | "closed", mouth: "closed" | "open",
 *   lift?: number}} Pose */

export const WIDTH = 16;
export const HEIGHT = 32;
const SITS_LOWER = 4;
/** Leaves a line above the highest hair. */
const DOWN = 1;

/** @type {Map<string, Picture>} */
const frames = new Map();

/** @param {string} name @param {string} facing @param {Pose} pose @returns {Picture} */
export function person(name, facing, pose) {
  const key = `${name}|${facing}|${pose.legs}|${pose.arms}|${pose.eyes}|${pose.mouth}|${pose.lift ?? 0}`;
  let found = frames.get(key);
  if (!found) {
    if (frames.size > 4000) frames.clear();
    found = facing === "left" ? mirrored(person(name, "right", pose)) : compose(name, facing, pose);
    frames.set(key, found);
  }
  return found;
}

/** @param {string} name @param {string} facing @param {Pose} pose */
function compose(name, facing, pose) {
  const who = look(name);
  const [S, s, d] = SKINS[who.skin];
  const [H, h, i] = HAIRS[who.hairColour];
  const [T, t, u] = TOPS[who.top];
  const [B, b, v] = BOTTOMS[who.bottom];
  const palette = { S, s, d, H, h, i, T, t, u, U: mix(u, tint(t)), B, b, v, x: who.shoes, w: "#fbf6ea", g: "#33303f",
    c: "#f3ead8", n: TOPS[who.accent][1] };
  const side = facing === "right" ? "right" : "down";
  const made = new Pixels(WIDTH, HEIGHT);
  const low = pose.legs === "sit" ? SITS_LOWER : 0;
  const dy = DOWN + low - (pose.lift ?? 0);
  /** @param {import("../art/people.js").Part | undefined} part @param {number} [down] */
  const lay = (part, down = dy) => { if (part) made.lay(part[2], part[0], part[1] + down, palette); };
  const arms = ARMS[side][pose.arms] ?? ARMS[side].down;
  const hidden = facing === "up" && ["type1", "type2", "chin", "sip"].includes(pose.arms);

  lay(LEGS[side][pose.legs], DOWN + low);
  if (hidden) lay(arms[0]), lay(arms[1]);
  lay(TORSO[facing]);
  lay(WORN[who.worn]?.[facing]);
  if (!hidden && pose.arms !== "chin" && pose.arms !== "sip") for (const arm of arms) lay(arm);
  lay(HEAD[facing]);
  if (facing !== "up") {
    drawFace(made, facing, pose, dy, s, d);
    if (who.beard) lay(BEARD[side]);
    if (who.glasses) lay(GLASSES[side]);
  }
  lay(HAIR[who.hair][facing]);
  if (who.headphones) lay(HEADPHONES[facing]);
  if (!hidden && (pose.arms === "chin" || pose.arms === "sip")) for (const arm of arms) lay(arm);
  return made.outlined().picture();
}

/** @param {Pixels} made @param {string} facing @param {Pose} pose @param {number} dy @param {string} skin
 * @param {string} shade */
function drawFace(made, facing, pose, dy, skin, shade) {
  const { eyes, mouth } = FACE[facing];
  const dark = "#1c1520";
  for (const [x, y] of eyes) {
    if (pose.eyes === "closed") made.set(x, y + 1 + dy, shade);
    else { made.set(x, y + dy, dark); made.set(x, y + 1 + dy, dark); }
    made.set(x - 1, y + 2 + dy, mix(skin, "#e0604f", 0.22));
  }
  const [x, y] = mouth;
  made.set(x, y + dy, pose.mouth === "open" ? "#7a2f35" : shade);
  made.set(x + 1, y + dy, pose.mouth === "open" ? "#7a2f35" : shade);
  if (pose.mouth === "open") { made.set(x, y + 1 + dy, "#c9656a"); made.set(x + 1, y + 1 + dy, "#c9656a"); }
}

/** @param {string} a @param {string} b @param {number} [share] of the second */
function mix(a, b, share = 0.5) {
  const of = (/** @type {string} */ hex, /** @type {number} */ at) => parseInt(hex.slice(at, at + 2), 16);
  return `#${[1, 3, 5].map((at) => Math.round(of(a, at) * (1 - share) + of(b, at) * share).toString(16).padStart(2, "0"))
    .join("")}`;
}
