// @ts-check
/** The cat does as it likes; where, follows from the hour, so that everybody sees the same cat. Pure. */

import { chance, hash } from "./chance.js";
import { heading } from "./walk.js";

const NAP_SECONDS = 40;
const MS_PER_TILE = 420;

/** @typedef {{x: number, y: number}} Tile */

export class Cat {
  /** @param {{width: number, height: number, rows: string[], things: {kind: string, x: number, y: number}[]}} plan */
  constructor(plan) {
    this.plan = plan;
    const bed = plan.things.find((thing) => thing.kind === "cat bed");
    this.bed = bed ? { x: bed.x, y: bed.y } : null;
    /** @type {Tile[]} */ this.floor = [];
    plan.rows.forEach((row, y) => [...row].forEach((sign, x) => { if (".,:r".includes(sign)) this.floor.push({ x, y }); }));
    /** @type {Map<number, Tile[]>} */ this.ways = new Map();
  }

  /** Where it means to be in a slot of time. @param {number} slot @returns {Tile} */
  goal(slot) {
    if (this.bed && chance(`cat naps ${slot}`) < 0.45) return this.bed;
    return this.floor[hash(`cat goes ${slot}`) % this.floor.length];
  }

  /** @param {number} now @returns {{x: number, y: number, does: "sleep" | "sit" | "walk", left: boolean} | null} */
  at(now) {
    if (!this.bed || !this.floor.length) return null;
    const slot = Math.floor(now / NAP_SECONDS);
    const way = this.way(slot);
    const done = ((now - slot * NAP_SECONDS) * 1000) / MS_PER_TILE;
    const last = way[way.length - 1];
    if (done >= way.length - 1) {
      const asleep = last.x === this.bed.x && last.y === this.bed.y;
      return { ...last, does: asleep ? "sleep" : "sit", left: hash(`cat turns ${slot}`) % 2 > 0 };
    }
    const step = Math.floor(done);
    const [from, to] = [way[step], way[step + 1]];
    const part = done - step;
    const facing = heading(from, to);
    return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part, does: "walk", left: facing === "left" || facing === "up" };
  }

  /** @param {number} slot @returns {Tile[]} */
  way(slot) {
    const known = this.ways.get(slot);
    if (known) return known;
    const way = this.search(this.goal(slot - 1), this.goal(slot));
    this.ways.clear();
    this.ways.set(slot, way);
    return way;
  }

  /** @param {Tile} from @param {Tile} to @returns {Tile[]} */
  search(from, to) {
    const { width } = this.plan;
    const at = (/** @type {Tile} */ t) => t.y * width + t.x;
    const open = new Set([...this.floor, this.bed ?? from, from, to].map(at));
    const before = new Map([[at(from), -1]]);
    const queue = [at(from)];
    for (const tile of queue) {
      if (tile === at(to)) break;
      for (const near of [tile + 1, tile - 1, tile + width, tile - width]) {
        if (open.has(near) && !before.has(near)) { before.set(near, tile); queue.push(near); }
      }
    }
    if (!before.has(at(to))) return [to];
    const way = [];
    for (let tile = at(to); tile !== -1; tile = /** @type {number} */ (before.get(tile))) {
      way.unshift({ x: tile % width, y: Math.floor(tile / width) });
    }
    return way;
  }
}
