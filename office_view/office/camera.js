// @ts-check
/** Where one looks: whole-number zoom, whole device pixels, never lost. Pure. */

export const TILE = 16;
const MARGIN = 6;
/** Room above the office for the words of whoever sits at the back. */
const HEADROOM = 16;
/** What the buttons below take, in CSS pixels, where there is room to spare. */
const BELOW = 72;
/** The zoom at which a face can be seen, in CSS pixels. */
export const CLOSE = 1.7;

export class Camera {
  constructor() {
    this.zoom = 2;
    this.x = 0;
    this.y = 0;
    this.width = 1;
    this.height = 1;
    this.ratio = 1;
    this.office = { width: 1, height: 1 };
    /** Where all of it would be too small to see anybody, begin closer; somebody is followed then. */
    this.close = false;
    /** The reader has chosen; the window's size does not change it any more. */
    this.chosen = false;
  }

  /** The view in device pixels. @param {number} width @param {number} height @param {number} ratio */
  resize(width, height, ratio) {
    const middle = this.toOffice(this.width / 2, this.height / 2);
    Object.assign(this, { width, height, ratio });
    if (this.chosen) this.lookAt(middle.x, middle.y);
    else this.fit();
  }

  /** @param {number} width @param {number} height of the office, in tiles */
  furnish(width, height) {
    this.office = { width: width * TILE, height: height * TILE };
    this.fit();
  }

  get least() { return Math.max(1, Math.round(this.ratio)); }
  get most() { return Math.round(6 * this.ratio); }

  /** The largest zoom that shows the whole office. */
  fit() {
    const across = this.width / (this.office.width + 2 * MARGIN);
    const down = this.height / (this.office.height + MARGIN + HEADROOM);
    this.zoom = Math.max(1, Math.min(this.most, Math.floor(Math.min(across, down))));
    if (this.close) this.zoom = Math.max(this.zoom, Math.round(CLOSE * this.ratio));
    this.chosen = false;
    const spare = this.height - (this.office.height + HEADROOM) * this.zoom;
    const below = Math.max(0, Math.min(BELOW * this.ratio, spare - MARGIN));
    this.lookAt(this.office.width / 2, (this.office.height - HEADROOM + MARGIN + below / this.zoom) / 2);
  }

  /** @param {number} x @param {number} y in pixels of the office */
  lookAt(x, y) {
    this.x = Math.round(this.width / 2 - x * this.zoom);
    this.y = Math.round(this.height / 2 - y * this.zoom);
    this.hold();
  }

  /** @param {number} dx @param {number} dy in device pixels */
  pan(dx, dy) {
    this.x = Math.round(this.x + dx);
    this.y = Math.round(this.y + dy);
    this.chosen = true;
    this.hold();
  }

  /** @param {number} steps @param {number} [x] @param {number} [y] the place that stays where it is */
  zoomBy(steps, x = this.width / 2, y = this.height / 2) {
    const place = this.toOffice(x, y);
    this.zoom = Math.max(1, Math.min(this.most, this.zoom + steps * this.least));
    this.x = Math.round(x - place.x * this.zoom);
    this.y = Math.round(y - place.y * this.zoom);
    this.chosen = true;
    this.hold();
  }

  /** Never so far that nothing of the office is seen. */
  hold() {
    const w = this.office.width * this.zoom;
    const h = this.office.height * this.zoom;
    const clamp = (/** @type {number} */ at, /** @type {number} */ size, /** @type {number} */ view) => {
      const slack = Math.min(view, size) / 2;
      return Math.min(view - slack, Math.max(slack - size, at));
    };
    this.x = Math.round(clamp(this.x, w, this.width));
    this.y = Math.round(clamp(this.y, h, this.height));
  }

  /** Whoever is followed, no more of the dark outside is shown than has to be. */
  rim() {
    const rim = (/** @type {number} */ at, /** @type {number} */ size, /** @type {number} */ view, /** @type {number} */ before) =>
      (size + before < view ? at : Math.round(Math.min(before, Math.max(view - size - MARGIN * this.zoom, at))));
    this.x = rim(this.x, this.office.width * this.zoom, this.width, MARGIN * this.zoom);
    this.y = rim(this.y, this.office.height * this.zoom, this.height, HEADROOM * this.zoom + BELOW * this.ratio * 0.5);
  }

  /** @param {number} x @param {number} y */
  toOffice(x, y) { return { x: (x - this.x) / this.zoom, y: (y - this.y) / this.zoom }; }

  /** @param {number} x @param {number} y */
  toScreen(x, y) { return { x: x * this.zoom + this.x, y: y * this.zoom + this.y }; }
}
