// @ts-check
/** The canvas: draws when something has changed and rests otherwise; pans, zooms, points and follows. */

import { Utterance } from "./bubbles.js";
import { Camera } from "./camera.js";
import { whereabouts } from "./walk.js";
import { FRESH } from "../state.js";
import { widthOf } from "./labels.js";
import { Scene } from "./scene.js";

const PAN = 48;
const LOOK_MS = 100;
const IDLE_MS = 1000;
const CLICK = 5;
/** The longest line of a bubble, in CSS pixels: about 28 signs. */
const LINE = 215;

export class OfficeView {
  /** @param {HTMLCanvasElement} canvas @param {{now: () => number, state: () => any, select: (id: string | null) => void,
   *   open: (agent: string, message: string) => void, hover: (id: string | null, x: number, y: number) => void}} use */
  constructor(canvas, use) {
    this.canvas = canvas;
    this.use = use;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
    this.camera = new Camera();
    this.scene = new Scene(this.camera);
    this.follow = false;
    /** Whether a line fits a bubble on this screen. @param {string} line */
    this.fits = (line) => widthOf(line) <= Math.min(LINE, this.camera.width / this.camera.ratio - 44);
    this.frames = 0;
    this.shown = "";
    this.timer = 0;
    this.frame = 0;
    /** @type {any} */ this.plan = null;
    /** @type {string | null} */ this.followed = null;
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    this.scene.calm = still.matches;
    still.addEventListener("change", () => { this.scene.calm = still.matches; this.changed(); });
    const hour = new URLSearchParams(location.search).get("hour");
    this.scene.fixedHour = hour === null ? null : Number(hour);
    new ResizeObserver(() => this.resize()).observe(canvas);
    document.addEventListener("visibilitychange", () => this.changed());
    this.listen();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.camera.resize(this.canvas.width, this.canvas.height, ratio);
    this.shown = "";
    this.changed(true);
  }

  /** Something may look different now. @param {boolean} [at_once] before anybody sees an empty canvas */
  changed(at_once = false) {
    clearTimeout(this.timer);
    this.timer = 0;
    if (at_once) this.look();
    else if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.look(); });
  }

  look() {
    if (document.hidden) return;
    const state = this.use.state();
    const now = this.use.now();
    if (state.office && state.office !== this.plan) {
      this.plan = state.office;
      this.scene.furnish(state.office);
      this.shown = "";
    }
    for (const [id, agent] of state.leaving) if (whereabouts(agent, now).arrived) state.leaving.delete(id);
    this.hear(state, now);
    const word = this.scene.prepare(state, now) + this.camera.zoom + this.camera.x + this.camera.y;
    if (this.follow) this.followSpeaker();
    if (word !== this.shown) {
      this.shown = word;
      this.scene.draw(this.context, now);
      this.frames += 1;
      this.canvas.dataset.frames = String(this.frames);
      this.onDrawn?.();
    }
    clearTimeout(this.timer);
    if (this.scene.moving) this.changed();
    else if (this.scene.actors.length || this.scene.words.size || state.leaving.size) this.timer = window.setTimeout(() => this.changed(), LOOK_MS);
    else this.timer = window.setTimeout(() => this.changed(), IDLE_MS);
  }

  /** Turn what is said into bubbles. @param {any} state @param {number} now */
  hear(state, now) {
    const { words } = this.scene;
    for (const agent of state.agents.values()) {
      const said = agent.said;
      let known = words.get(agent.agent_id);
      if (known && said && known.id !== said.id) { words.delete(agent.agent_id); known = undefined; }  // it thinks anew
      if (!said?.text) continue;
      if (said.heard) continue;
      if (!known && said.over && now - said.at > FRESH) { said.heard = true; continue; }
      if (!known || known.id !== said.id) words.set(agent.agent_id, known = new Utterance(said.id, now));
      known.says(said.text, said.over, this.fits);
      known.messageId = said.messageId ?? "";
    }
    for (const [id, utterance] of words) {
      const agent = state.agents.get(id);
      if (!agent || !utterance.reads(now)) {
        words.delete(id);
        if (agent?.said?.id === utterance.id) agent.said.heard = true;
      }
    }
  }

  followSpeaker() {
    const speaker = this.scene.actors.find((actor) => actor.state === "speaking") ?? this.scene.actors.find((actor) => actor.state === "thinking");
    if (!speaker) return;
    const { camera } = this;
    const at = camera.toScreen(speaker.x, speaker.foot - 24);
    const wide = camera.office.width * camera.zoom > camera.width;
    const high = camera.office.height * camera.zoom > camera.height;
    const dx = wide ? camera.width / 2 - at.x : 0;
    const dy = high ? camera.height * 0.6 - at.y : 0;
    if (Math.abs(dx) + Math.abs(dy) < 3) return;
    const ease = this.scene.calm ? 1 : 0.12;
    const before = [camera.x, camera.y];
    camera.x += Math.round(dx * ease);
    camera.y += Math.round(dy * ease);
    camera.rim();
    if (before[0] !== camera.x || before[1] !== camera.y) this.changed();
  }

  // -- looking around ----------------------------------------------------------------------------------------------

  fit() { this.camera.fit(); this.changed(); }

  /** @param {number} steps @param {number} [x] @param {number} [y] */
  zoom(steps, x, y) { this.camera.zoomBy(steps, x, y); this.changed(); }

  /** @param {string | null} id */
  select(id) {
    this.scene.selected = id;
    this.changed();
  }

  /** @param {string | null} id */
  hover(id) {
    this.scene.hovered = id;
    this.changed();
  }

  /** Bring somebody into view. @param {string} id */
  show(id) {
    const actor = this.scene.actors.find((one) => one.id === id);
    if (!actor) return;
    const at = this.camera.toScreen(actor.x, actor.foot - 16);
    const edge = 40 * this.camera.ratio;
    if (at.x < edge || at.y < edge || at.x > this.camera.width - edge || at.y > this.camera.height - edge) this.camera.lookAt(actor.x, actor.foot - 16);
    this.changed();
  }

  /** @param {number} x @param {number} y in CSS pixels of the canvas */
  hit(x, y) {
    return this.scene.hits.findLast((box) => x >= box.left && x < box.left + box.width && y >= box.top && y < box.top + box.height);
  }

  listen() {
    const { canvas } = this;
    /** @type {Map<number, {x: number, y: number}>} */ const down = new Map();
    let moved = 0;
    let spread = 0;
    const at = (/** @type {PointerEvent | WheelEvent} */ event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, at(event));
      moved = 0;
      spread = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const here = at(event);
      const before = down.get(event.pointerId);
      if (!before) return this.point(here.x, here.y);
      down.set(event.pointerId, here);
      const { ratio } = this.camera;
      moved += Math.abs(here.x - before.x) + Math.abs(here.y - before.y);
      if (down.size === 1 && moved > CLICK) {
        this.camera.pan((here.x - before.x) * ratio, (here.y - before.y) * ratio);
        if (this.follow) this.setFollow(false);
        this.changed();
      } else if (down.size === 2) {
        const [a, b] = [...down.values()];
        const distance = Math.hypot(a.x - b.x, a.y - b.y);
        if (!spread) spread = distance;
        if (distance > spread * 1.3 || distance < spread / 1.3) {
          this.zoom(distance > spread ? 1 : -1, ((a.x + b.x) / 2) * ratio, ((a.y + b.y) / 2) * ratio);
          spread = distance;
        }
      }
    });
    const release = (/** @type {PointerEvent} */ event) => {
      const here = down.get(event.pointerId);
      down.delete(event.pointerId);
      if (event.type !== "pointerup" || !here || moved > CLICK || down.size) return;
      const found = this.hit(here.x, here.y);
      if (found?.message) this.use.open(found.agent, found.message);
      else this.use.select(found ? found.agent : null);
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => this.point(-1, -1));
    let wheel = 0;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      wheel += event.deltaY;
      if (Math.abs(wheel) < 40) return;
      const { x, y } = at(event);
      this.zoom(wheel < 0 ? 1 : -1, x * this.camera.ratio, y * this.camera.ratio);
      wheel = 0;
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = PAN * this.camera.ratio;
      const keys = /** @type {Record<string, () => void>} */ ({
        ArrowLeft: () => this.camera.pan(step, 0), ArrowRight: () => this.camera.pan(-step, 0),
        ArrowUp: () => this.camera.pan(0, step), ArrowDown: () => this.camera.pan(0, -step),
        "+": () => this.camera.zoomBy(1), "=": () => this.camera.zoomBy(1), "-": () => this.camera.zoomBy(-1), 0: () => this.camera.fit(),
      });
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      if (event.key.startsWith("Arrow") && this.follow) this.setFollow(false);
      keys[event.key]();
      this.changed();
    });
  }

  /** @param {boolean} on */
  setFollow(on) {
    this.follow = on;
    this.onFollow?.(on);
    this.camera.close = on;
    if (!this.camera.chosen) this.camera.fit();
    this.changed();
  }

  /** @type {((on: boolean) => void) | undefined} */ onFollow;
  /** @type {(() => void) | undefined} */ onDrawn;

  /** @param {number} x @param {number} y */
  point(x, y) {
    const found = this.hit(x, y);
    this.canvas.style.cursor = found ? "pointer" : "grab";
    if ((found?.agent ?? null) !== this.scene.hovered) this.hover(found?.agent ?? null);
    this.use.hover(found?.agent ?? null, x, y);
  }
}
