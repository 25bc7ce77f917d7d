// @ts-check
/** The place itself: floors, walls and furniture of a plan, drawn once; a frame only stamps. */

import * as furniture from "../art/furniture.js";
import * as kitchen from "../art/kitchen.js";
import { FLOORS, PALETTE, WALL } from "../art/palette.js";
import { flat, mirrored, Pixels, rows, standing } from "../art/pixels.js";
import * as plants from "../art/plants.js";
import * as screens from "../art/screens.js";
import * as walls from "../art/walls.js";
import { hash, pick } from "./chance.js";
import { outside } from "./sky.js";
import { TILE } from "./camera.js";

/** @typedef {import("../art/pixels.js").Picture} Picture */
/** @typedef {{picture: Picture, x: number, y: number, foot: number}} Stamp something that stands: its foot sorts it */
/** @typedef {{kind: string, x: number, y: number, width: number, height: number, facing: string}} Thing */
/** @typedef {{width: number, height: number, rows: string[], things: Thing[], seats: {x: number, y: number, facing: string}[],
 *   door: {x: number, y: number}}} Plan */

export const FACE = 24;
const CAP = 6;
const WALLS = "#=Ewqh";
const FLOOR = /** @type {Record<string, keyof typeof FLOORS>} */ ({ ".": "wood", ",": "tiles", ":": "carpet", r: "rug" });
const DARK_CHAIR = { L: "#8a8f9f", l: "#646a7c", j: "#454a5b", n: PALETTE.n, N: PALETTE.N };

/** @type {Map<string, Picture>} */
const kept = new Map();

/** @param {string} key @param {() => Picture} make */
function once(key, make) {
  let found = kept.get(key);
  if (!found) kept.set(key, found = make());
  return found;
}

/** @param {number} width @param {number} height */
function canvas(width, height) {
  const made = new OffscreenCanvas(width, height);
  return { made, context: /** @type {OffscreenCanvasRenderingContext2D} */ (made.getContext("2d")) };
}

export class Place {
  /** @param {Plan} plan */
  constructor(plan) {
    this.plan = plan;
    this.floor = this.drawFloor();
    /** @type {Stamp[]} */ this.stamps = [];
    /** Lamps and screens, for the night: middle and reach. @type {{x: number, y: number, reach: number, colour: string}[]} */
    this.lights = [];
    /** The screens that show something: where the glass is, and whose. @type {{x: number, y: number, width: number,
     *   height: number, foot: number, seat: string}[]} */
    this.glasses = [];
    /** @type {{x: number, y: number, width: number, height: number} | null} */ this.board = null;
    /** @type {{x: number, y: number}[]} */ this.clocks = [];
    /** Chairs that stand in front of who sits on them. @type {Map<string, Stamp>} */ this.chairs = new Map();
    for (const thing of plan.things) this.furnish(thing);
    this.hour = -1;
    /** @type {Stamp[]} */ this.walls = [];
  }

  /** Where slips of paper lie: on the desks of those who have something to do. @param {{seat: number}[]} agents
   * @returns {{x: number, y: number, foot: number}[]} */
  notes(agents) {
    const found = [];
    for (const { seat } of agents) {
      const home = this.plan.seats?.[seat];
      if (!home) continue;
      const y = home.y + ({ up: -1, down: 1 }[home.facing] ?? 0);
      const right = this.sign(home.x + 1, y) === "D" && this.sign(home.x + 1, home.y) !== "c";
      if (this.sign(home.x, y) === "D") found.push({ x: home.x * TILE + (right ? 14 : -5), y: y * TILE - 2, foot: (y + 1) * TILE + 0.2 });
    }
    return found;
  }

  /** @param {number} x @param {number} y */
  sign(x, y) { return this.plan.rows[y]?.[x] ?? " "; }

  /** @param {number} x @param {number} y */
  isWall(x, y) { return this.sign(x, y) === " " || WALLS.includes(this.sign(x, y)); }

  // -- floors ----------------------------------------------------------------------------------------------------

  /** The floor below a thing is that of its nearest neighbour. */
  floors() {
    const { width, height } = this.plan;
    const found = this.plan.rows.map((row) => [...row].map((sign) => FLOOR[sign] ?? null));
    for (let round = 0; round < 6; round++) {
      const before = found.map((row) => [...row]);
      for (let y = 0; y < height; y++) {
        for (let x = 0; x < width; x++) {
          if (before[y][x] || this.isWall(x, y)) continue;
          found[y][x] = before[y][x - 1] ?? before[y][x + 1] ?? before[y + 1]?.[x] ?? before[y - 1]?.[x] ?? null;
        }
      }
    }
    return found;
  }

  drawFloor() {
    const { width, height } = this.plan;
    const { made, context } = canvas(width * TILE, height * TILE);
    const floors = this.floors();
    const under = (/** @type {number} */ x, /** @type {number} */ y) => {
      for (let reach = 1; reach < width; reach++) {
        for (const [a, b] of [[x - reach, y], [x + reach, y], [x, y - reach], [x, y + reach]]) {
          const near = floors[b]?.[a];
          if (near && near !== "rug") return near;
        }
      }
      return "wood";
    };
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const kind = floors[y][x];
        if (!kind) { context.fillStyle = WALL.outer; context.fillRect(x * TILE, y * TILE, TILE, TILE); continue; }
        drawTile(context, kind === "rug" ? under(x, y) : kind, x, y);
        if (kind === "rug") drawRug(context, x, y, (dx, dy) => floors[y + dy]?.[x + dx] === "rug");
      }
    }
    this.drawShadows(context);
    return made;
  }

  /** Soft contact shadows: below walls, and an ellipse below what stands. @param {OffscreenCanvasRenderingContext2D} context */
  drawShadows(context) {
    context.fillStyle = "rgba(52, 30, 40, 0.20)";
    for (let y = 0; y < this.plan.height; y++) {
      for (let x = 0; x < this.plan.width; x++) {
        if (this.isWall(x, y) || !this.isWall(x, y - 1)) continue;
        context.fillRect(x * TILE, y * TILE, TILE, 3);
      }
    }
    for (const thing of this.plan.things) {
      if (WALLS.includes(this.sign(thing.x, thing.y))) continue;
      const width = thing.width * TILE;
      const bottom = (thing.y + thing.height) * TILE;
      const wide = ["desk", "table", "counter", "sink", "coffee machine", "microwave", "sofa"].includes(thing.kind);
      if (wide) context.fillRect(thing.x * TILE + 1, bottom - 4, width - 1, 5);
      else ellipse(context, thing.x * TILE + width / 2, bottom - 2, width / 2 - 1, 3);
    }
  }

  // -- walls -----------------------------------------------------------------------------------------------------

  /** Walls with what hangs on them; drawn anew when another time of day is seen through the windows.
   * @param {number} hour */
  drawWalls(hour) {
    if (hour === this.hour) return;
    this.hour = hour;
    this.walls = [];
    this.board = null;
    this.clocks = [];
    for (let y = 0; y < this.plan.height; y++) {
      const { made, context } = canvas(this.plan.width * TILE, FACE + CAP + TILE);
      let any = false;
      for (let x = 0; x < this.plan.width; x++) {
        if (!this.isWall(x, y)) continue;
        any = true;
        this.drawWall(context, x, y);
      }
      if (any) {
        this.hang(context, y, hour);
        this.walls.push({ picture: made, x: 0, y: (y + 1) * TILE - FACE - CAP - TILE, foot: (y + 1) * TILE - 1 });
      }
    }
  }

  /** @param {OffscreenCanvasRenderingContext2D} context @param {number} x @param {number} y */
  drawWall(context, x, y) {
    const left = x * TILE;
    const bottom = FACE + CAP + TILE;
    const below = y + 1 < this.plan.height && !this.isWall(x, y + 1);
    const above = y > 0 && this.isWall(x, y - 1);
    if (below) {
      context.fillStyle = WALL.face;
      context.fillRect(left, bottom - FACE, TILE, FACE);
      context.fillStyle = WALL.faceLight;
      context.fillRect(left, bottom - FACE, TILE, 2);
      context.fillStyle = WALL.faceDark;
      if (hash(`brick ${x} ${y}`) % 3 === 0) context.fillRect(left + 3 + (x % 3) * 3, bottom - 12 + (x % 2) * 4, 4, 1);
      context.fillStyle = WALL.base;
      context.fillRect(left, bottom - 4, TILE, 4);
      context.fillStyle = WALL.faceDark;
      context.fillRect(left, bottom - 5, TILE, 1);
      context.fillStyle = WALL.outer;
      context.fillRect(left, bottom - 1, TILE, 1);
      for (const [side, at] of [[-1, left], [1, left + TILE - 1]]) {
        if (!this.isWall(x + side, y)) { context.fillStyle = WALL.base; context.fillRect(at, bottom - FACE, 1, FACE); }
      }
      this.top(context, x, y, bottom - FACE - (above ? TILE : CAP), above ? TILE : CAP);
    } else if (this.sign(x, y) === "E") {  // seen from above: an opening with a mat
      context.fillStyle = FLOORS.wood.dark;
      context.fillRect(left, bottom - TILE, TILE, TILE);
      context.fillStyle = FLOORS.rug.base;
      context.fillRect(left + 2, bottom - TILE + 2, TILE - 4, TILE - 4);
      context.fillStyle = FLOORS.rug.line;
      context.fillRect(left + 4, bottom - TILE + 4, TILE - 8, TILE - 8);
    } else if (y === this.plan.height - 1) {  // the near wall is seen from above only, so that it hides nothing
      this.top(context, x, y, bottom - TILE, TILE);
    } else {
      this.top(context, x, y, bottom - TILE - (above ? 0 : FACE - TILE + CAP), above ? TILE : TILE + FACE - TILE + CAP);
      if (above) this.top(context, x, y, bottom - FACE, FACE - TILE);
    }
  }

  /** @param {OffscreenCanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} top
   * @param {number} height */
  top(context, x, y, top, height) {
    const left = x * TILE;
    context.fillStyle = WALL.top;
    context.fillRect(left, top, TILE, height);
    context.fillStyle = WALL.topLight;
    if (!this.isWall(x - 1, y) || x === 0) context.fillRect(left, top, 1, height);
    if (y === 0 || !this.isWall(x, y - 1)) context.fillRect(left, top, TILE, 1);
    context.fillStyle = WALL.outer;
    if (!this.isWall(x + 1, y)) context.fillRect(left + TILE - 1, top, 1, height);
  }

  /** @param {OffscreenCanvasRenderingContext2D} context @param {number} y @param {number} hour */
  hang(context, y, hour) {
    const base = CAP + TILE;
    const up = (y + 1) * TILE - FACE - CAP - TILE;
    for (const thing of this.plan.things) {
      if (thing.y !== y || this.isWall(thing.x, y + 1)) continue;
      const left = thing.x * TILE;
      if (thing.kind === "window") context.drawImage(glass(hour, thing.x), left, base);
      if (thing.kind === "door") context.drawImage(once("door", () => standing(walls.door)), left, base - 6);
      if (thing.kind === "poster") {
        const map = [walls.poster_hills, walls.poster_red, walls.poster_night][(thing.x + thing.y) % 3];
        context.drawImage(once(`poster ${map.length}${map.slice(60, 200)}`, () => standing(map)), left, base + 1);
      }
      if (thing.kind === "clock") {
        context.drawImage(once("clock", () => flat(walls.clock)), left, base + 1);
        this.clocks.push({ x: left + 8, y: up + base + 9 });
      }
      if (thing.kind === "whiteboard") {
        context.drawImage(once("whiteboard", () => standing(walls.whiteboard)), left, base + 1);
        this.board ??= { x: left + 3, y: up + base + 5, width: 26, height: 10 };
      }
    }
  }

  // -- furniture -------------------------------------------------------------------------------------------------

  /** @param {Picture} picture @param {number} x @param {number} bottom @param {number} foot */
  stand(picture, x, bottom, foot) {
    this.stamps.push({ picture, x, y: bottom - picture.height, foot });
  }

  /** @param {Thing} thing */
  furnish(thing) {
    const left = thing.x * TILE;
    const bottom = (thing.y + thing.height) * TILE;
    const middle = left + (thing.width * TILE) / 2;
    const plain = (/** @type {string} */ map, /** @type {string} */ key = thing.kind) => {
      const picture = once(key, () => standing(map));
      this.stand(picture, left + Math.round((thing.width * TILE - picture.width) / 2), bottom, bottom);
    };
    switch (thing.kind) {
      case "desk": return this.desk(thing);
      case "chair": return this.chair(thing);
      case "table": return this.table(thing);
      case "plant":
        return hash(`${thing.x} ${thing.y}`) % 2 ? plain(plants.plant, "plant") : plain(plants.palm, "palm");
      case "lamp":
        this.lights.push({ x: middle, y: bottom - 26, reach: 44, colour: "255, 214, 140" });
        return plain(furniture.lamp);
      case "bookshelf": return plain(furniture.bookshelf);
      case "boxes": return plain(furniture.boxes);
      case "bin": return plain(furniture.bin);
      case "printer": return plain(furniture.printer);
      case "cabinet": return plain(furniture.cabinet);
      case "coat rack": return plain(furniture.coat_rack);
      case "server rack":
        this.lights.push({ x: middle, y: bottom - 16, reach: 16, colour: "120, 240, 220" });
        return plain(furniture.server_rack);
      case "aquarium":
        this.lights.push({ x: middle, y: bottom - 16, reach: 26, colour: "120, 230, 220" });
        return plain(furniture.aquarium);
      case "sofa": return plain(furniture.sofa);
      case "armchair": return plain(furniture.armchair);
      case "coffee table": return plain(furniture.coffee_table);
      case "cat bed": return plain(furniture.cat_bed);
      case "fridge": return plain(kitchen.fridge);
      case "vending machine":
        this.lights.push({ x: middle, y: bottom - 18, reach: 26, colour: "255, 236, 190" });
        return plain(kitchen.vending_machine);
      case "water cooler": return plain(kitchen.water_cooler);
      case "counter": return this.stand(once("counter", () => flat(kitchen.counter)), left, bottom, bottom);
      case "sink": return this.stand(once("sink", () => flat(kitchen.sink)), left, bottom, bottom);
      case "coffee machine": return this.stand(once("coffee machine", () => flat(kitchen.coffee_machine)), left, bottom, bottom);
      case "microwave": return this.stand(once("microwave", () => flat(kitchen.microwave)), left, bottom, bottom);
      default: return undefined;
    }
  }

  /** @param {Thing} thing */
  desk(thing) {
    const left = thing.x * TILE;
    const bottom = (thing.y + 1) * TILE;
    const down = thing.facing === "down";
    this.stand(once(`desk ${down}`, () => standing(down ? furniture.desk_down : furniture.desk_up)), left, bottom, bottom);
    const seatY = thing.y + (down ? -1 : 1);
    const seatX = this.sign(thing.x, seatY) === "c" ? thing.x : thing.x + 1;
    if (this.sign(seatX, seatY) !== "c") return;
    const other = seatX === thing.x ? thing.x + 1 : thing.x;
    const draw = hash(`desk ${thing.x} ${thing.y}`);
    const foot = bottom + 0.1;
    const middle = seatX * TILE + 8;
    const on = (/** @type {Picture} */ picture, /** @type {number} */ centre, /** @type {number} */ base) =>
      this.stand(picture, Math.round(centre - picture.width / 2), base, foot);
    const laptop = down ? this.sign(thing.x, thing.y + 1) === "D" || draw % 2 === 0 : draw % 3 === 0;
    if (down) {
      const map = laptop ? screens.laptop_back : screens.monitor_back;
      on(once(`back ${laptop}`, () => standing(map)), middle, bottom - TILE + (laptop ? 4 : 5));
    } else {
      const map = laptop ? screens.laptop : screens.monitor;
      const picture = once(`front ${laptop}`, () => standing(map));
      const base = bottom - TILE - (laptop ? 0 : 2);
      on(picture, middle, base);
      const glassLeft = Math.round(middle - picture.width / 2) + (laptop ? 3 : 2);
      this.glasses.push({ x: glassLeft, y: base - picture.height + 2, width: laptop ? 8 : 14, height: laptop ? 4 : 8,
        foot: foot + 0.1, seat: `${seatX},${seatY}` });
    }
    const odds = [screens.mug, screens.papers, screens.desk_lamp, screens.books, plants.succulent];
    const first = odds[draw % odds.length];
    const second = odds[(draw >>> 8) % odds.length];
    const side = other * TILE + 8;
    on(once(`on desk ${draw % odds.length}`, () => standing(first)), side + (other > seatX ? 3 : -3), bottom - TILE + 1);
    if (second !== first) {
      on(once(`on desk ${(draw >>> 8) % odds.length}`, () => standing(second)), side - (other > seatX ? 4 : -4), bottom - TILE - 1);
    }
    if ([first, second].includes(screens.desk_lamp)) {
      this.lights.push({ x: side, y: bottom - TILE - 6, reach: 22, colour: "255, 214, 140" });
    }
  }

  /** @param {Thing} thing */
  chair(thing) {
    const beside = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] }[thing.facing] ?? [0, 0];
    const meeting = this.sign(thing.x + beside[0], thing.y + beside[1]) === "T";
    const map = { up: furniture.chair_up, down: furniture.chair_down }[thing.facing] ?? furniture.chair_right;
    const palette = meeting ? DARK_CHAIR : undefined;
    const turned = once(`chair ${thing.facing} ${meeting}`, () => {
      const picture = standing(map, palette);
      return thing.facing === "left" ? mirrored(picture) : picture;
    });
    const bottom = (thing.y + 1) * TILE;
    const shift = thing.facing === "up" ? -2 : thing.facing === "down" ? -1 : 0;
    const stamp = { picture: turned, x: thing.x * TILE, y: bottom - turned.height + shift,
      foot: bottom - 1 + (thing.facing === "up" ? 0.8 : -0.5) };
    this.stamps.push(stamp);
    this.chairs.set(`${thing.x},${thing.y}`, stamp);
  }

  /** @param {Thing} thing */
  table(thing) {
    const { width, height } = thing;
    const { made, context } = canvas(width * TILE, height * TILE + 8);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const name = (y === 0 ? "n" : y === height - 1 ? "s" : "") + (x === 0 ? "w" : x === width - 1 ? "e" : "");
        const key = /** @type {keyof typeof furniture} */ (`table_${name || "c"}`);
        context.drawImage(once(key, () => flat(furniture[key])), x * TILE, y * TILE);
      }
    }
    const foot = (thing.y + height) * TILE;
    const pixels = outlineOf(made);
    this.stamps.push({ picture: pixels, x: thing.x * TILE, y: thing.y * TILE - 4, foot });
    const papers = once("papers", () => standing(screens.papers));
    const mug = once("mug", () => standing(screens.mug));
    for (let n = 0; n < width * height; n++) {
      const [x, y] = [n % width, Math.floor(n / width)];
      if (y === height - 1 || (x > 0 && x < width - 1 && height < 3)) continue;
      const what = pick([papers, mug, null, null, papers], `on table ${x} ${y}`);
      if (what) this.stamps.push({ picture: what, x: (thing.x + x) * TILE + 4, y: (thing.y + y) * TILE + 1, foot: foot + 0.1 });
    }
  }
}

/** @param {Picture} picture @returns {Picture} with a line around it */
function outlineOf(picture) {
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (picture.getContext("2d"));
  const { data } = context.getImageData(0, 0, picture.width, picture.height);
  const pixels = new Pixels(picture.width, picture.height);
  const hex = (/** @type {number} */ value) => value.toString(16).padStart(2, "0");
  for (let at = 0; at < picture.width * picture.height; at++) {
    if (data[at * 4 + 3]) pixels.colours[at] = `#${hex(data[at * 4])}${hex(data[at * 4 + 1])}${hex(data[at * 4 + 2])}`;
  }
  return pixels.outlined().picture();
}

/** @param {OffscreenCanvasRenderingContext2D} context @param {"wood" | "tiles" | "carpet" | "rug"} kind @param {number} x
 * @param {number} y */
function drawTile(context, kind, x, y) {
  const { base, light, dark, line } = FLOORS[kind];
  const [left, top] = [x * TILE, y * TILE];
  const fill = (/** @type {string} */ colour, /** @type {number} */ a, /** @type {number} */ b, /** @type {number} */ w, /** @type {number} */ h) => {
    context.fillStyle = colour;
    context.fillRect(left + a, top + b, w, h);
  };
  fill(base, 0, 0, TILE, TILE);
  if (kind === "wood") {
    for (const row of [0, 1]) {
      const draw = hash(`plank ${x} ${y * 2 + row}`);
      if (draw % 4 === 0) fill(light, 0, row * 8, TILE, 7);
      if (draw % 4 === 1) fill(dark, 0, row * 8, TILE, 7);
      fill(line, 0, row * 8 + 7, TILE, 1);
      const joint = (x + (y * 2 + row) * 2) % 4;
      if (joint === 0) fill(line, 4, row * 8, 1, 7);
      if (draw % 5 === 0) fill(dark, 6 + (draw % 6), row * 8 + 3, 4, 1);
    }
  } else if (kind === "tiles") {
    if ((x + y) % 2) fill(dark, 0, 0, TILE, TILE);
    fill((x + y) % 2 ? base : light, 1, 1, TILE - 2, 1);
    fill((x + y) % 2 ? base : light, 1, 1, 1, TILE - 2);
    fill(line, 0, TILE - 1, TILE, 1);
    fill(line, TILE - 1, 0, 1, TILE);
  } else {
    for (let n = 0; n < 9; n++) {
      const draw = hash(`carpet ${x} ${y} ${n}`);
      fill(draw % 2 ? light : dark, draw % 15, (draw >>> 6) % 15, 2, 1);
    }
    if ((x + y) % 2) fill(line, 7, 7, 2, 1);
  }
}

/** @param {OffscreenCanvasRenderingContext2D} context @param {number} x @param {number} y
 * @param {(dx: number, dy: number) => boolean} joins */
function drawRug(context, x, y, joins) {
  const { base, light, dark, line } = FLOORS.rug;
  const [left, top] = [x * TILE, y * TILE];
  const inset = { l: joins(-1, 0) ? 0 : 2, r: joins(1, 0) ? 0 : 2, t: joins(0, -1) ? 0 : 2, b: joins(0, 1) ? 0 : 2 };
  const box = (/** @type {string} */ colour, /** @type {number} */ by) => {
    const l = inset.l ? inset.l + by : 0;
    const t = inset.t ? inset.t + by : 0;
    context.fillStyle = colour;
    context.fillRect(left + l, top + t, TILE - l - (inset.r ? inset.r + by : 0), TILE - t - (inset.b ? inset.b + by : 0));
  };
  box(dark, 0);
  box(line, 1);
  box(base, 3);
  context.fillStyle = light;
  context.fillRect(left + 7, top + 6, 2, 4);
  context.fillRect(left + 6, top + 7, 4, 2);
}

/** @param {number} hour @param {number} x @returns {Picture} a window with what is behind it */
function glass(hour, x) {
  const view = outside(hour);
  const pixels = Pixels.read(walls.window);
  const lines = rows(walls.window);
  lines.forEach((row, dy) => [...row].forEach((sign, dx) => {
    if (sign !== "~") return;
    const far = 12 + Math.round(Math.sin((x * TILE + dx) / 9) * 1.6);
    const near = 14 + Math.round(Math.sin((x * TILE + dx) / 5 + 2) * 1);
    let colour = view.sky[dy < 8 ? 0 : dy < 11 ? 1 : 2];
    if (dy >= far) colour = view.hills;
    if (dy >= near) colour = view.near;
    if (view.lights && dy >= near && hash(`light ${x} ${dx} ${dy}`) % 7 === 0) colour = "#ffd98a";
    if (view.lights && dy < 9 && hash(`star ${x} ${dx} ${dy}`) % 29 === 0) colour = "#cfd8ff";
    pixels.set(dx, dy, colour);
    if (dx - dy === -2 || dx - dy === -1) pixels.set(dx, dy, lighter(colour));
  }));
  return pixels.outlined().picture();
}

/** @param {string} colour */
function lighter(colour) {
  return `#${[1, 3, 5].map((at) => Math.min(255, Math.round(parseInt(colour.slice(at, at + 2), 16) * 1.08 + 14))
    .toString(16).padStart(2, "0")).join("")}`;
}

/** @param {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} context @param {number} x @param {number} y
 * @param {number} rx @param {number} ry */
export function ellipse(context, x, y, rx, ry) {
  for (let dy = -ry; dy < ry; dy++) {
    const half = Math.round(rx * Math.sqrt(Math.max(0, 1 - ((dy + 0.5) / ry) ** 2)));
    context.fillRect(Math.round(x) - half, Math.round(y) + dy, half * 2, 1);
  }
}
