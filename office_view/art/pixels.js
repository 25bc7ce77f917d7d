// @ts-check
/** From text maps to pictures: one sign a pixel, a dark line around what stands. Made once, stamped ever after. */

import { PALETTE } from "./palette.js";

/** @typedef {OffscreenCanvas} Picture */

/** @param {string} map @returns {string[]} its rows */
export function rows(map) {
  const lines = map.split("\n");
  if (lines[0] === "") lines.shift();
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

/** @param {string} hex @returns {[number, number, number]} */
export function rgb(hex) {
  return /** @type {[number, number, number]} */ ([1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
}

/** A grid of colours; `null` is nothing. */
export class Pixels {
  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** @type {(string | null)[]} */ this.colours = new Array(width * height).fill(null);
  }

  /** @param {string} map @param {Record<string, string>} [palette] @returns {Pixels} */
  static read(map, palette = PALETTE) {
    const lines = rows(map);
    const made = new Pixels(Math.max(...lines.map((line) => line.length)), lines.length);
    made.lay(map, 0, 0, palette);
    return made;
  }

  /** Lay a map over it; `.` leaves what is there, a sign that the palette lacks is nothing.
   * @param {string} map @param {number} x @param {number} y @param {Record<string, string>} palette */
  lay(map, x, y, palette) {
    rows(map).forEach((line, dy) => [...line].forEach((sign, dx) => {
      if (sign !== "." && sign !== " " && palette[sign]) this.set(x + dx, y + dy, palette[sign]);
    }));
    return this;
  }

  /** @param {number} x @param {number} y @param {string} colour */
  set(x, y, colour) {
    if (x >= 0 && y >= 0 && x < this.width && y < this.height) this.colours[y * this.width + x] = colour;
  }

  /** @param {number} x @param {number} y */
  at(x, y) {
    return x >= 0 && y >= 0 && x < this.width && y < this.height ? this.colours[y * this.width + x] : null;
  }

  /** A one-pixel line around everything, in a dark tint of what it surrounds. */
  outlined() {
    const line = [];
    for (let y = 0; y < this.height; y++) {
      for (let x = 0; x < this.width; x++) {
        if (this.at(x, y)) continue;
        const near = this.at(x, y - 1) ?? this.at(x, y + 1) ?? this.at(x - 1, y) ?? this.at(x + 1, y);
        if (near) line.push(/** @type {const} */ ([x, y, tint(near)]));
      }
    }
    for (const [x, y, colour] of line) this.set(x, y, colour);
    return this;
  }

  /** @returns {Picture} */
  picture() {
    const canvas = new OffscreenCanvas(this.width, this.height);
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const data = context.createImageData(this.width, this.height);
    this.colours.forEach((colour, at) => {
      if (!colour) return;
      const [r, g, b] = rgb(colour);
      data.data.set([r, g, b, 255], at * 4);
    });
    context.putImageData(data, 0, 0);
    return canvas;
  }
}

/** @type {Map<string, string>} */
const tints = new Map();

/** A dark tint, for lines. @param {string} colour @returns {string} */
export function tint(colour) {
  let found = tints.get(colour);
  if (!found) {
    const [r, g, b] = rgb(colour);
    found = `#${[r * 0.34 + 14, g * 0.28 + 8, b * 0.34 + 18].map((v) => Math.min(255, Math.round(v)).toString(16)
      .padStart(2, "0")).join("")}`;
    tints.set(colour, found);
  }
  return found;
}

/** @param {Picture} picture @returns {Picture} the same, seen in a mirror */
export function mirrored(picture) {
  const made = new OffscreenCanvas(picture.width, picture.height);
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (made.getContext("2d"));
  context.scale(-1, 1);
  context.drawImage(picture, -picture.width, 0);
  return made;
}

/** @param {string} map @param {Record<string, string>} [palette] @returns {Picture} something that stands */
export function standing(map, palette) {
  return Pixels.read(map, palette).outlined().picture();
}

/** @param {string} map @param {Record<string, string>} [palette] @returns {Picture} something flat, or that joins on */
export function flat(map, palette) {
  return Pixels.read(map, palette).picture();
}
