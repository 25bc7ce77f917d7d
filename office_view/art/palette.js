// @ts-check
/** The colours of the office: ramps of three or four, light from the upper left. One sign each in the maps. */

/** @type {Record<string, string>} */
export const PALETTE = {
  W: "#e6b272", w: "#c98a4b", X: "#bb7c40", x: "#a86a38", v: "#935a30", V: "#693d24", // wood
  A: "#b98467", a: "#9c6650", b: "#8a5746", d: "#744638", D: "#57332c", // walnut
  "#": "#fffdf5", C: "#f6ecd6", c: "#e4d3b4", k: "#bfa987", f: "#d0b893", // paper, cream
  M: "#d5dce0", m: "#a9b3bc", n: "#76818d", N: "#454c5c", K: "#2c2a38", // metal, slate
  G: "#a5cf6b", g: "#6aa84f", h: "#43803f", H: "#2a5636", // leaves
  T: "#b4f2e1", t: "#5cc4b4", u: "#2f8a88", U: "#1b4350", s: "#3aa79c", // screens, water
  L: "#9cc0ea", l: "#668fcc", j: "#44669f", J: "#2d4671", // blue
  R: "#f29578", r: "#d55f4c", q: "#a03f3d", Q: "#642833", // red
  Y: "#ffe69a", y: "#ebbd55", z: "#b98735", Z: "#4a3026", // brass, inside of shelves
  e: "#f5c38f", O: "#e69b68", o: "#c97445", p: "#995032", // clay
  I: "#7fa6a0", i: "#5f8a87", // kitchen fronts
};

/** Floors: two or three tones each. */
export const FLOORS = {
  wood: { base: "#d6a063", light: "#deac72", dark: "#c48f55", line: "#b27d47" },
  tiles: { base: "#efe4cf", light: "#f8f0df", dark: "#dccdb2", line: "#cbb99b" },
  carpet: { base: "#6f8db5", light: "#7b99c0", dark: "#6482aa", line: "#5a769d" },
  rug: { base: "#b65a50", light: "#c9776a", dark: "#97453f", line: "#e8c48a" },
};

export const WALL = { top: "#3f4457", topLight: "#565c72", face: "#b9bdc9", faceLight: "#cdd1da", faceDark: "#9ca1b1",
  base: "#7d8296", outer: "#33384a" };

/** @type {[string, string, string][]} light, base, shade */
export const SKINS = [
  ["#ffe3cb", "#f7c9a3", "#dfa47c"], ["#f6cfa4", "#e3ad7b", "#c28757"], ["#dba877", "#c08754", "#99643a"],
  ["#b07d55", "#8f5c3a", "#6d4129"], ["#936246", "#754935", "#543225"],
];
/** @type {[string, string, string][]} */
export const HAIRS = [
  ["#57473f", "#3a2e2b", "#251d1e"], ["#8a5a37", "#643d25", "#432817"], ["#c8874a", "#a1632f", "#74431f"],
  ["#f2d184", "#d9ab54", "#b08138"], ["#e0744a", "#b94e2e", "#873520"], ["#d9dbe0", "#b0b4bd", "#868b98"],
  ["#7b86c9", "#5560a6", "#3b4380"],
];
/** @type {[string, string, string][]} */
export const TOPS = [
  ["#f0846f", "#d05a4b", "#9f3d38"], ["#7fb0e6", "#5286c9", "#38629a"], ["#94c976", "#649f52", "#437540"],
  ["#f7d173", "#dda842", "#ad7c2c"], ["#b79be0", "#8a6cbf", "#644a93"], ["#76cbc2", "#449d98", "#2d7375"],
  ["#f3f0e8", "#d8d3c6", "#aca695"], ["#6b7389", "#494f65", "#323749"], ["#f2a3bd", "#d4718f", "#a34c69"],
  ["#e6a56f", "#bf7847", "#8d5431"],
];
/** @type {[string, string, string][]} */
export const BOTTOMS = [
  ["#6a7fae", "#4a5c88", "#333f62"], ["#6b6470", "#4c4652", "#342f3a"], ["#a8835c", "#82623f", "#5d4429"],
  ["#5c7a72", "#405a54", "#2b3f3b"], ["#8d8791", "#6b6570", "#4b464f"],
];
