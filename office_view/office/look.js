// @ts-check
/** What somebody looks like, from the name alone: the same name is always the same person. Pure. */

import { BOTTOMS, HAIRS, SKINS, TOPS } from "../art/palette.js";
import { HAIR, WORN } from "../art/people.js";
import { hash } from "./chance.js";

/** @typedef {{skin: number, hair: string, hairColour: number, top: number, bottom: number, glasses: boolean,
 *   beard: boolean, headphones: boolean, worn: string, accent: number, shoes: string}} Look */

const STYLES = Object.keys(HAIR);
const BEARDED = new Set(["short", "part", "bald", "spiky", "curly"]);
const SHOES = ["#4a3230", "#3a3a48", "#d8d3c6", "#8a4a34"];

/** @param {string} name @returns {Look} */
export function look(name) {
  const draw = (/** @type {string} */ what, /** @type {number} */ count) => hash(`${what} of ${name.toLowerCase()}`) % count;
  const hair = STYLES[draw("style", STYLES.length)];
  const skin = draw("skin", SKINS.length);
  const worn = ["", "", ...Object.keys(WORN)][draw("worn", 2 + Object.keys(WORN).length)];
  const top = draw("top", TOPS.length);
  return {
    skin, hair, top, worn,
    hairColour: hairFor(skin, draw("hair", 100)),
    bottom: draw("bottom", BOTTOMS.length),
    glasses: draw("glasses", 10) < 3,
    beard: BEARDED.has(hair) && draw("beard", 10) < 4,
    headphones: draw("headphones", 10) < 1 && hair !== "bun" && hair !== "spiky",
    accent: (top + 1 + draw("accent", TOPS.length - 1)) % TOPS.length,
    shoes: SHOES[draw("shoes", SHOES.length)],
  };
}

/** Dark skins have dark hair most of the time, and anybody may have dyed it. @param {number} skin @param {number} draw */
function hairFor(skin, draw) {
  if (draw >= 94) return HAIRS.length - 1;
  if (skin >= 3) return draw < 70 ? 0 : draw < 86 ? 1 : 5;
  return draw % (HAIRS.length - 1);
}
