// @ts-check
/** The time of day: what is seen through the windows, and how dark it is inside. Pure. */

/** @typedef {{sky: [string, string, string], hills: string, near: string, lights: boolean}} Outside */

/** @type {Record<string, Outside>} */
const OUTSIDE = {
  night: { sky: ["#1b2450", "#243064", "#2f3d78"], hills: "#182046", near: "#10163a", lights: true },
  dawn: { sky: ["#7f8fd0", "#f0a58f", "#ffd9a0"], hills: "#7a6a8c", near: "#5b5474", lights: false },
  day: { sky: ["#7fc1f0", "#a5d8f8", "#d3eefc"], hills: "#84b98a", near: "#5d9a6c", lights: false },
  dusk: { sky: ["#4a4f96", "#c9708a", "#ffb26b"], hills: "#5d4a76", near: "#3f355e", lights: true },
};

/** @param {number} hour with its part */
export function daytime(hour) {
  if (hour < 5.5 || hour >= 21) return "night";
  if (hour < 8) return "dawn";
  if (hour < 18.5) return "day";
  return "dusk";
}

/** @param {number} hour @returns {Outside} */
export const outside = (hour) => OUTSIDE[daytime(hour)];

/** How much of the daylight is gone, from 0 to 1. @param {number} hour */
export function darkness(hour) {
  if (hour >= 7.5 && hour < 17.5) return 0;
  if (hour >= 21 || hour < 5.5) return 1;
  return hour < 8 ? Math.max(0, 1 - (hour - 5.5) / 2) : (hour - 17.5) / 3.5;
}
