// @ts-check
/** One frame: the place, everybody in it sorted by where their feet are, the light, and the words on top. */

import * as cats from "../art/cat.js";
import { mirrored, standing } from "../art/pixels.js";
import { actors } from "./actors.js";
import { MOST, place as arrange } from "./bubbles.js";
import { TILE } from "./camera.js";
import { Cat } from "./cat.js";
import { hash } from "./chance.js";
import { bubble, bubbleSize, pill, plate, SMALL } from "./labels.js";
import { HEIGHT, person, WIDTH } from "./person.js";
import { ellipse, Place } from "./place.js";
import { darkness } from "./sky.js";
import { doing } from "../words.js";

/** @typedef {import("../art/pixels.js").Picture} Picture */
/** @typedef {import("./actors.js").Actor} Actor */
/** @typedef {import("./bubbles.js").Utterance} Utterance */
/** @typedef {{left: number, top: number, width: number, height: number, agent: string, message: string}} Hit */

const ACCENT = "#ffd27a";
const PLATES_FOR_ALL = 12;
const ROLES_FOR_ALL = 6;
const LARGEST_GROUND = 3000;
/** The longest tail of a bubble, in CSS pixels; and the longest that covers nobody's words. */
const TAIL = 110;
const SHORT_TAIL = 16;
/** How far beside a small mark one may press. */
const FINGER = 8;
const CODE = ["#5cc4b4", "#b4f2e1", "#ffe69a", "#9cc0ea", "#f29578"];

/** @type {Map<string, Picture>} */
const pictures = new Map();

/** @param {string} key @param {() => Picture} make */
function once(key, make) {
  let found = pictures.get(key);
  if (!found && pictures.size > 400) pictures.clear();
  if (!found) pictures.set(key, found = make());
  return found;
}

export class Scene {
  /** @param {import("./camera.js").Camera} camera */
  constructor(camera) {
    this.camera = camera;
    /** @type {Place | null} */ this.place = null;
    /** @type {Cat | null} */ this.cat = null;
    /** @type {Picture | null} */ this.ground = null;
    this.groundZoom = 0;
    /** @type {Map<string, Utterance>} */ this.words = new Map();
    /** @type {Hit[]} */ this.hits = [];
    /** @type {Actor[]} */ this.actors = [];
    /** @type {{x: number, y: number, foot: number}[]} */ this.notes = [];
    this.topic = "";
    /** @type {{place: Place, dark: number, picture: Picture} | null} */ this.lit = null;
    /** @type {string | null} */ this.hovered = null;
    /** @type {string | null} */ this.selected = null;
    this.calm = false;
    /** @type {number | null} */ this.fixedHour = null;
  }

  /** @param {import("./place.js").Plan} plan */
  furnish(plan) {
    this.place = new Place(plan);
    this.cat = new Cat(plan);
    this.ground = null;
    this.camera.furnish(plan.width, plan.height);
  }

  /** The hour of the office's day. */
  hour() {
    if (this.fixedHour !== null) return this.fixedHour;
    const now = new Date();
    return now.getHours() + now.getMinutes() / 60;
  }

  /** What the next frame will show, in a word; the same word means there is nothing to draw.
   * @param {any} state @param {number} now */
  prepare(state, now) {
    if (!this.place) return "";
    this.actors = actors(state, this.place.plan, now, this.calm);
    this.notes = this.place.notes([...state.agents.values()].filter((agent) => agent.current_task));
    this.catNow = this.calm ? this.cat?.at(0) : this.cat?.at(now);
    const parts = this.actors.map((a) => `${a.id}${a.left.toFixed(2)},${a.top.toFixed(2)}${a.facing}${a.pose.legs}${a.pose.arms}${a.pose.eyes}${a.pose.mouth}${a.pose.lift}${a.state}${a.tool}${a.tries}${a.waits}${a.failed}${a.asleep}${a.thinking && !this.calm ? Math.floor(now * 3) : ""}`);
    const cat = this.catNow ? `${this.catNow.x.toFixed(1)},${this.catNow.y.toFixed(1)}${this.catNow.does}` : "";
    const lit = this.calm ? 0 : this.actors.some((a) => a.pose.arms.startsWith("type") || a.working) ? Math.floor(now * 4) : 0;
    const said = [...this.words].map(([id, u]) => `${id}${u.page}${u.text.length}`).join();
    return `${parts.join("|")}#${cat}#${lit}#${said}#${this.hovered}${this.selected}#${Math.floor(this.hour() * 60)}#${this.topic}#${this.notes.map((note) => note.x + note.y).join()}`;
  }

  get moving() {
    return this.actors.some((actor) => actor.walking) || (this.catNow?.does === "walk" && !this.calm);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} now */
  draw(context, now) {
    const { camera, place } = this;
    const { canvas } = context;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.imageSmoothingEnabled = false;
    context.fillStyle = "#2a2e3d";
    context.fillRect(0, 0, canvas.width, canvas.height);
    if (!place) return;
    place.drawWalls(Math.floor(this.hour() * 4) / 4);
    this.drawGround(context);
    context.setTransform(camera.zoom, 0, 0, camera.zoom, camera.x, camera.y);
    this.drawStanding(context, now);
    this.drawNight(context);
    context.setTransform(1, 0, 0, 1, 0, 0);
    this.drawWords(context, now);
  }

  /** The floor, scaled once for this zoom. @param {CanvasRenderingContext2D} context */
  drawGround(context) {
    const { camera } = this;
    const place = /** @type {Place} */ (this.place);
    if (Math.max(place.floor.width, place.floor.height) * camera.zoom > LARGEST_GROUND) {  // only what is seen, each time anew
      context.drawImage(place.floor, camera.x, camera.y, place.floor.width * camera.zoom, place.floor.height * camera.zoom);
      return;
    }
    if (!this.ground || this.groundZoom !== camera.zoom) {
      this.groundZoom = camera.zoom;
      this.ground = new OffscreenCanvas(place.floor.width * camera.zoom, place.floor.height * camera.zoom);
      const scaled = /** @type {OffscreenCanvasRenderingContext2D} */ (this.ground.getContext("2d"));
      scaled.imageSmoothingEnabled = false;
      scaled.drawImage(place.floor, 0, 0, this.ground.width, this.ground.height);
    }
    context.drawImage(this.ground, camera.x, camera.y);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} now */
  drawStanding(context, now) {
    const place = /** @type {Place} */ (this.place);
    context.fillStyle = "rgba(52, 30, 40, 0.22)";
    for (const actor of this.actors) if (!actor.sits) ellipse(context, actor.x, actor.foot - 2, 6, 3);
    /** @type {{foot: number, draw: () => void}[]} */ const all = [];
    for (const stamp of [...place.walls, ...place.stamps]) {
      all.push({ foot: stamp.foot, draw: () => context.drawImage(stamp.picture, stamp.x, stamp.y) });
    }
    for (const glass of place.glasses) all.push({ foot: glass.foot, draw: () => this.drawScreen(context, glass, now) });
    for (const note of this.notes) all.push({ foot: note.foot + 0.1, draw: () => drawNote(context, note.x, note.y) });
    for (const actor of this.actors) all.push({ foot: actor.sort, draw: () => this.drawPerson(context, actor) });
    if (this.catNow) all.push({ foot: (this.catNow.y + 1) * TILE - 2, draw: () => this.drawCat(context, now) });
    all.sort((a, b) => a.foot - b.foot);
    for (const { draw } of all) draw();
    this.drawClocks(context);
    this.drawBoard(context);
  }

  /** @param {CanvasRenderingContext2D} context @param {Actor} actor */
  drawPerson(context, actor) {
    const { zoom } = this.camera;
    const picture = person(actor.name, actor.facing, actor.pose);
    const left = Math.round(actor.left * zoom) / zoom;
    const top = Math.round(actor.top * zoom) / zoom;
    if (actor.id === this.hovered || actor.id === this.selected) {
      const glow = once(`glow ${actor.name} ${actor.facing} ${JSON.stringify(actor.pose)}`, () => silhouette(picture));
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) context.drawImage(glow, left + dx, top + dy);
    }
    context.drawImage(picture, left, top);
  }

  /** Lines of work that scroll while the owner is at it.
   * @param {CanvasRenderingContext2D} context @param {Place["glasses"][0]} glass @param {number} now */
  drawScreen(context, glass, now) {
    const owner = this.actors.find((actor) => actor.sits && `${Math.floor((actor.x - 1) / TILE)},${actor.foot / TILE - 1}` === glass.seat);
    if (!owner) return;
    const busy = owner.working || owner.pose.arms.startsWith("type") || owner.state === "thinking" || owner.state === "speaking";
    const scroll = busy && !this.calm ? Math.floor(now * 4) : 0;
    context.fillStyle = busy ? "#12343f" : "#1f5560";
    context.fillRect(glass.x, glass.y, glass.width, glass.height);
    for (let row = 0; row < glass.height; row += 2) {
      const draw = hash(`${owner.name} writes ${row / 2 + scroll}`);
      context.fillStyle = busy ? CODE[draw % CODE.length] : "#2f8a88";
      context.fillRect(glass.x + 1 + (draw >>> 4) % 3, glass.y + row, Math.min(glass.width - 4, 2 + ((draw >>> 8) % (glass.width - 4))), 1);
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {number} now */
  drawCat(context, now) {
    const cat = this.catNow;
    if (!cat) return;
    const name = cat.does === "walk" ? (Math.floor(now * 5) % 2 ? "walk1" : "walk2") : cat.does;
    let picture = once(`cat ${name}`, () => standing(cats[/** @type {"sit"} */ (name)]));
    if (cat.left) picture = once(`cat ${name} left`, () => mirrored(standing(cats[/** @type {"sit"} */ (name)])));
    const bottom = (cat.y + 1) * TILE - (cat.does === "sleep" ? 4 : 2);
    context.drawImage(picture, Math.round(cat.x * TILE), Math.round(bottom - picture.height));
  }

  /** @param {CanvasRenderingContext2D} context */
  drawClocks(context) {
    const hour = this.hour();
    for (const { x, y } of /** @type {Place} */ (this.place).clocks) {
      for (const [turn, length, colour] of /** @type {[number, number, string][]} */ ([[hour / 12, 2, "#2c2a38"], [hour % 1, 3, "#a03f3d"]])) {
        const angle = turn * 2 * Math.PI - Math.PI / 2;
        context.fillStyle = colour;
        for (let at = 0; at <= length; at++) context.fillRect(Math.round(x - 0.5 + Math.cos(angle) * at), Math.round(y - 0.5 + Math.sin(angle) * at), 1, 1);
      }
    }
  }

  /** The topic on the whiteboard: small, as such things are. @param {CanvasRenderingContext2D} context */
  drawBoard(context) {
    const board = /** @type {Place} */ (this.place).board;
    if (!board || !this.topic) return;
    context.save();
    context.beginPath();
    context.rect(board.x, board.y, board.width, board.height);
    context.clip();
    context.font = "600 3.4px system-ui, sans-serif";
    context.fillStyle = "#3c5f9a";
    context.textBaseline = "top";
    let [line, y] = ["", board.y];
    for (const word of `${this.topic} `.split(" ")) {
      if (line && context.measureText(`${line} ${word}`).width > board.width) { context.fillText(line, board.x, y); line = ""; y += 3.5; }
      line = line ? `${line} ${word}` : word;
    }
    context.fillText(line, board.x, y);
    context.restore();
  }

  /** @param {CanvasRenderingContext2D} context */
  drawNight(context) {
    const dark = darkness(this.hour());
    if (!dark) return;
    const place = /** @type {Place} */ (this.place);
    const shade = (/** @type {number} */ to) => Math.round(255 - (255 - to) * dark);
    context.save();
    context.beginPath();
    context.rect(0, -TILE, place.floor.width, place.floor.height + TILE);
    context.clip();
    context.globalCompositeOperation = "multiply";
    context.fillStyle = `rgb(${shade(118)}, ${shade(126)}, ${shade(188)})`;
    context.fillRect(0, -TILE, place.floor.width, place.floor.height + TILE);
    context.globalCompositeOperation = "lighter";
    context.drawImage(this.lamps(place, dark), 0, 0);
    for (const glass of place.glasses) {
      if (this.actors.some((a) => a.sits && `${Math.floor((a.x - 1) / TILE)},${a.foot / TILE - 1}` === glass.seat)) {
        pool(context, glass.x + glass.width / 2, glass.y + 4, 18, "110, 220, 210", dark * 0.8);
      }
    }
    context.restore();
  }

  /** The light of all lamps, drawn once for this darkness. @param {Place} place @param {number} dark */
  lamps(place, dark) {
    if (this.lit?.place !== place || this.lit.dark !== dark) {
      const picture = new OffscreenCanvas(place.floor.width, place.floor.height);
      const context = /** @type {OffscreenCanvasRenderingContext2D} */ (picture.getContext("2d"));
      context.globalCompositeOperation = "lighter";
      for (const light of place.lights) pool(context, light.x, light.y, light.reach, light.colour, dark);
      this.lit = { place, dark, picture };
    }
    return this.lit.picture;
  }

  // -- words -----------------------------------------------------------------------------------------------------

  /** Where a head is on the screen, in CSS pixels. @param {Actor} actor */
  head(actor) {
    const { ratio } = this.camera;
    const at = this.camera.toScreen(actor.x, actor.top + (actor.sits ? 5 : 1));
    return { x: at.x / ratio, y: at.y / ratio };
  }

  /** @param {CanvasRenderingContext2D} context @param {number} now */
  drawWords(context, now) {
    const { ratio, zoom } = this.camera;
    const view = { width: this.camera.width / ratio, height: this.camera.height / ratio };
    this.hits = [];
    for (const actor of this.actors) {
      const corner = this.camera.toScreen(actor.left, actor.top);
      this.hits.push({ left: corner.x / ratio, top: corner.y / ratio, width: (WIDTH * zoom) / ratio, height: (HEIGHT * zoom) / ratio, agent: actor.id, message: "" });
    }
    const stamp = (/** @type {Picture} */ picture, /** @type {number} */ x, /** @type {number} */ y) =>
      context.drawImage(picture, Math.round(x * ratio), Math.round(y * ratio));
    const plates = this.drawPlates(stamp, ratio, view);
    const marks = this.marks(ratio, view);
    this.drawBubbles(context, stamp, view, plates, ratio, marks.map((mark) => mark.box));
    for (const { actor, picture, box } of marks) {
      if (actor.waits) this.hits.push({ left: box.left - FINGER, top: box.top - FINGER, width: box.width + 2 * FINGER, height: box.height + FINGER, agent: actor.id, message: "" });
      if (picture) stamp(picture, box.left, box.top);
      else this.drawThought(context, this.head(actor), now, ratio);
    }
    for (const { actor, box } of marks) {  // above its mark, which stays where the pointer is
      if (!actor.waits || actor.failed || (actor.id !== this.hovered && actor.id !== this.selected)) continue;
      const wish = pill(actor.waits, "ask", ratio);
      const left = box.left + (box.width - wish.width / ratio) / 2;
      stamp(wish, Math.max(4, Math.min(view.width - wish.width / ratio - 4, left)), Math.max(4, box.top - box.height - 2));
    }
  }

  /** @param {(picture: Picture, x: number, y: number) => void} stamp @param {number} ratio
   * @param {{width: number, height: number}} view */
  drawPlates(stamp, ratio, view) {
    const many = this.actors.length > PLATES_FOR_ALL || this.camera.zoom / ratio < 1.5;
    const brief = this.actors.length > ROLES_FOR_ALL;
    /** @type {{left: number, top: number, width: number, height: number}[]} */ const placed = [];
    const order = [...this.actors].sort((a, b) => a.foot - b.foot || a.x - b.x);
    for (const actor of order) {
      const marked = actor.id === this.selected || actor.id === this.hovered;
      if (actor.leaving || (many && !marked && actor.state === "idle") || outside(this.head(actor), view)) continue;
      const picture = plate(actor.name, brief && !marked ? "" : actor.role, actor.state, marked, ratio);
      const at = this.camera.toScreen(actor.x, actor.foot + (actor.sits ? 2 : 1));
      const size = { width: picture.width / ratio, height: picture.height / ratio };
      const box = { left: Math.max(2, Math.min(view.width - size.width - 2, at.x / ratio - size.width / 2)), top: at.y / ratio, ...size };
      for (let tries = 0; tries < 3 && placed.some((other) => crosses(box, other)); tries++) box.top += size.height + 1;
      if (placed.some((other) => crosses(box, other)) && !marked && actor.state === "idle") continue;
      placed.push(box);
      stamp(picture, box.left, box.top);
    }
    return placed;
  }

  /** Thoughts, tools, failures and sleep, each with its place over a head. @param {number} ratio @param {{width: number, height: number}} view
   * @returns {{actor: Actor, picture: Picture | null, box: import("./bubbles.js").Box}[]} */
  marks(ratio, view) {
    /** @type {ReturnType<Scene["marks"]>} */ const found = [];
    for (const actor of this.actors) {
      const head = this.head(actor);
      const picture = actor.failed ? pill(`⚠ ${actor.failed}`, "alarm", ratio)
        : actor.waits ? pill("?", "ask", ratio)
          : actor.tries ? pill(actor.tries, "alarm", ratio) : actor.tool ? pill(doing(actor.tool), "tool", ratio)
            : actor.asleep ? pill("z z z", "zzz", ratio) : null;
      if (!picture && !actor.thinking) continue;
      const [width, height] = picture ? [picture.width / ratio, picture.height / ratio] : [44, 38];
      if (outside(head, view)) continue;
      const left = Math.max(4, Math.min(view.width - width - 4, head.x - width / 2));
      found.push({ actor, picture, box: { left, top: Math.max(4, head.y - (picture ? 26 : 34)), width, height } });
    }
    found.sort((a, b) => a.box.width - b.box.width);  // the wider gives way
    for (const [at, { picture, box }] of found.entries()) {
      for (let tries = 0; picture && tries < 3 && found.slice(0, at).some((other) => crosses(box, other.box)); tries++) box.top = Math.max(4, box.top - box.height - 2);
    }
    return found;
  }

  /** @param {CanvasRenderingContext2D} context @param {{x: number, y: number}} head @param {number} now
   * @param {number} ratio */
  drawThought(context, head, now, ratio) {
    const dots = this.calm ? 3 : Math.floor(now * 3) % 4;
    context.save();
    context.scale(ratio, ratio);
    context.fillStyle = "#fffdf6";
    context.strokeStyle = "#4a3d38";
    context.lineWidth = 1.25;
    const [x, y] = [Math.round(head.x), Math.round(head.y) - 18];
    context.beginPath();
    for (const [dx, dy, r] of [[-12, 2, 8], [-4, -4, 9], [6, -4, 9], [13, 2, 8], [0, 4, 10]]) {
      context.moveTo(x + dx + r, y + dy);
      context.arc(x + dx, y + dy, r, 0, 7);
    }
    context.stroke();
    context.fill();
    for (const [dx, dy, r] of [[5, 16, 2.5], [3, 21, 1.5]]) {
      context.beginPath();
      context.arc(x + dx, y + dy, r, 0, 7);
      context.stroke();
      context.fill();
    }
    context.fillStyle = "#6d615a";
    for (let at = 0; at < 3; at++) {
      context.globalAlpha = at < dots ? 1 : 0.25;
      context.beginPath();
      context.arc(x - 8 + at * 8, y, 2.2, 0, 7);
      context.fill();
    }
    context.restore();
  }

  /** @param {CanvasRenderingContext2D} context @param {(picture: Picture, x: number, y: number) => void} stamp
   * @param {{width: number, height: number}} view @param {{left: number, top: number, width: number, height: number}[]} plates
   * @param {number} ratio @param {import("./bubbles.js").Box[]} marks */
  drawBubbles(context, stamp, view, plates, ratio, marks) {
    const wanted = [];
    for (const actor of this.actors) {
      const said = this.words.get(actor.id);
      const lines = said?.pages[said.page];
      if (!said || !lines) continue;
      const head = this.head(actor);
      if (outside(head, view, 40)) continue;
      const count = said.pages.length > 1 ? `${said.page + 1}/${said.pages.length}` : "";
      const size = bubbleSize(said.over && said.pages.length > 1 ? padded(lines, count) : lines);
      wanted.push({ id: actor.id, x: head.x, y: head.y - 8, born: said.begun, head, said, lines, count, width: size.width, height: size.height + (count ? 8 : 0) });
    }
    const speaking = new Set([...wanted].sort((a, b) => b.born - a.born).slice(0, MOST).map((one) => one.id));
    const heads = this.actors.filter((actor) => speaking.has(actor.id)).map((actor) => {
      const head = this.head(actor);
      return { left: head.x - 7, top: head.y + 2, width: 14, height: 14 };
    });
    const placed = arrange(wanted, view, SMALL, [...heads, ...marks]);
    for (const spot of placed.reverse()) {
      const one = /** @type {(typeof wanted)[0]} */ (wanted.find((w) => w.id === spot.id));
      tail(context, spot, one.head, ratio, placed);
      stamp(spot.small ? bubble(["…"], "", "small", ratio, SMALL) : bubble(one.lines, one.count, "speech", ratio, spot), spot.left - 1, spot.top - 1);
      this.hits.push({ left: spot.left, top: spot.top, width: spot.width, height: spot.height, agent: one.id, message: one.said.messageId || `live ${one.said.id}` });
    }
    this.placed = placed;
    this.plates = plates;
  }
}

/** @param {string[]} lines @param {string} count */
function padded(lines, count) { return lines.length ? lines : [count]; }

/** @param {{left: number, top: number, width: number, height: number}} a @param {{left: number, top: number, width: number,
 *   height: number}} b */
function crosses(a, b) {
  return a.left < b.left + b.width + 2 && b.left < a.left + a.width + 2 && a.top < b.top + b.height && b.top < a.top + a.height;
}

/** A slip of paper with something to do. @param {CanvasRenderingContext2D} context @param {number} x @param {number} y */
function drawNote(context, x, y) {
  for (const [dx, dy, width, height, colour] of /** @type {[number, number, number, number, string][]} */ ([
    [0, 0, 7, 7, "#8a6a1f"], [1, 1, 5, 5, "#f7dd6b"], [1, 1, 5, 1, "#fff0a8"], [2, 3, 3, 1, "#8a6a1f"], [2, 5, 2, 1, "#8a6a1f"]])) {
    context.fillStyle = colour;
    context.fillRect(x + dx, y + dy, width, height);
  }
}

/** @param {{x: number, y: number}} head @param {{width: number, height: number}} view @param {number} [margin] */
function outside(head, view, margin = 8) {
  return head.x < -margin || head.x > view.width + margin || head.y < -margin || head.y > view.height + margin;
}

/** From a bubble to the head it belongs to; where another bubble is in between, it only points there.
 * @param {CanvasRenderingContext2D} context @param {{left: number, top: number, width: number, height: number}} box
 * @param {{x: number, y: number}} head @param {number} ratio @param {{left: number, top: number, width: number, height: number}[]} all */
function tail(context, box, head, ratio, all) {
  const bottom = box.top + box.height - 3;
  const above = bottom <= head.y + 6;
  const below = box.top > head.y + 20;
  const side = head.x < box.left ? -1 : head.x > box.left + box.width ? 1 : 0;
  if (!above && !below && !side) return;
  const upright = above || below;
  const root = below ? { x: Math.max(box.left + 14, Math.min(box.left + box.width - 14, head.x)), y: box.top + 1 } : above ? { x: Math.max(box.left + 14, Math.min(box.left + box.width - 14, head.x)), y: bottom - 1 }
    : { x: side < 0 ? box.left + 2 : box.left + box.width - 3, y: Math.max(box.top + 14, Math.min(bottom - 12, head.y)) };
  const goal = below ? { x: head.x, y: head.y + 30 } : { x: head.x - (above ? 0 : side * 8), y: Math.max(head.y - 1, above ? bottom + 5 : head.y) };
  const length = Math.hypot(goal.x - root.x, goal.y - root.y);
  const inside = (/** @type {number} */ share) => all.some((other) => other !== box && crosses(other,
    { left: root.x + (goal.x - root.x) * share - 4, top: root.y + (goal.y - root.y) * share - 4, width: 8, height: 8 }));
  const covered = [0.2, 0.35, 0.5, 0.65, 0.8, 0.95].some(inside);
  const reach = Math.min(1, (covered ? SHORT_TAIL : TAIL) / length);
  const tip = { x: root.x + (goal.x - root.x) * reach, y: root.y + (goal.y - root.y) * reach };
  context.save();
  context.scale(ratio, ratio);
  context.fillStyle = "#fffdf6";
  context.strokeStyle = "#4a3d38";
  context.lineWidth = 1.25;
  context.beginPath();
  context.moveTo(root.x - (upright ? 7 : 0), root.y - (upright ? 0 : 7));
  context.lineTo(tip.x, tip.y);
  context.lineTo(root.x + (upright ? 7 : 0), root.y + (upright ? 0 : 7));
  context.stroke();
  context.fill();
  context.restore();
}

/** @param {Picture} picture @returns {Picture} */
function silhouette(picture) {
  const made = new OffscreenCanvas(picture.width, picture.height);
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (made.getContext("2d"));
  context.drawImage(picture, 0, 0);
  context.globalCompositeOperation = "source-in";
  context.fillStyle = ACCENT;
  context.fillRect(0, 0, made.width, made.height);
  return made;
}

/** Light in steps, as pixels have it. @param {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} context @param {number} x @param {number} y
 * @param {number} reach @param {string} colour @param {number} strength */
function pool(context, x, y, reach, colour, strength) {
  for (const [share, alpha] of [[1, 0.05], [0.75, 0.06], [0.5, 0.08], [0.25, 0.1]]) {
    context.fillStyle = `rgba(${colour}, ${alpha * strength})`;
    ellipse(context, x, y, reach * share, Math.round(reach * share * 0.8));
  }
}
