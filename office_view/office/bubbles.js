// @ts-check
/** Speech bubbles: what stands on which page and for how long, and where they go so that all can be read. Pure. */

export const ACROSS = 28;
export const LINES = 4;
export const MOST = 3;
const LEAST_SECONDS = 2.5;
const SECONDS_PER_SIGN = 0.045;
const LINGER_SECONDS = 1.5;
/** Nobody reads a book in bubbles. */
const LONGEST = 2400;
const MORE = "(the rest is in the conversation)";

/** @param {string} text @returns {string[]} what a reader takes for signs */
const signs = typeof Intl !== "undefined" && "Segmenter" in Intl
  ? ((segmenter) => (/** @type {string} */ text) => [...segmenter.segment(text)].map((one) => one.segment))(new Intl.Segmenter())
  : (/** @type {string} */ text) => [...text];

/** Words in pages of a few lines; a word that is too long is broken.
 * @param {string} text @param {(line: string) => boolean} [fits] whether a line fits its bubble @param {number} [lines]
 * @returns {string[][]} */
export function pages(text, fits = (line) => [...line].length <= ACROSS, lines = LINES) {
  /** @type {string[]} */ const all = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(/\s+/).filter(Boolean)) {
      if (line && fits(`${line} ${word}`)) { line += ` ${word}`; continue; }
      if (line) all.push(line);
      line = word;
      if (fits(word)) continue;
      line = "";
      for (const sign of signs(word)) {
        if (line && !fits(line + sign)) { all.push(line); line = ""; }
        line += sign;
      }
    }
    if (line) all.push(line);
  }
  const made = [];
  for (let at = 0; at < all.length; at += lines) made.push(all.slice(at, at + lines));
  return made;
}

/** How long a page stays. @param {string[]} page */
export function holds(page) {
  return Math.max(LEAST_SECONDS, SECONDS_PER_SIGN * page.join(" ").length);
}

/** What one person says, as it is shown. */
export class Utterance {
  /** @param {string} id @param {number} now */
  constructor(id, now) {
    this.id = id;
    this.text = "";
    this.over = false;
    this.since = now;
    this.begun = now;
    this.page = 0;
    /** @type {string[][]} */ this.pages = [];
    this.messageId = "";
  }

  /** All that was said so far. @param {string} text @param {boolean} over @param {(line: string) => boolean} [fits] */
  says(text, over, fits) {
    if (text !== this.text) {
      const grew = this.text.length < LONGEST || text.length < LONGEST;
      this.text = text;
      if (grew) this.pages = pages(text.length < LONGEST ? text : `${text.slice(0, LONGEST)} … ${MORE}`, fits);
    }
    this.over ||= over;
  }

  /** Turn the page when it has been read; returns false when all is read. @param {number} now */
  reads(now) {
    const last = this.page >= this.pages.length - 1;
    const page = this.pages[this.page] ?? [];
    const read = now - this.since >= holds(page);
    if (!last && read) {
      this.page += 1;
      this.since = now;
      return true;
    }
    return !(last && this.over && now - this.since >= holds(page) + LINGER_SECONDS);
  }

  /** When to look again, in seconds. @param {number} now */
  next(now) {
    return Math.max(0.05, this.since + holds(this.pages[this.page] ?? []) - now);
  }
}

/** @typedef {{id: string, x: number, y: number, width: number, height: number, born: number}} Wanted
 *   x, y: the head it belongs to; born: the newest goes first */
/** @typedef {{id: string, left: number, top: number, width: number, height: number, small: boolean}} Placed */

const GAP = 6;
const LEAN = 14;

/** Find a place for each: over its head if that is free, else pushed up or aside; none over another, none outside.
 * @param {Wanted[]} wanted @param {{width: number, height: number}} view
 * @param {{width: number, height: number}} small the size of an ellipsis
 * @param {{left: number, top: number, width: number, height: number}[]} [taken] what must not be covered
 * @returns {Placed[]} */
export function place(wanted, view, small, taken = []) {
  const order = [...wanted].sort((a, b) => b.born - a.born);
  const full = order.slice(0, MOST);
  /** @type {{placed: Placed[], cost: number}} */ let best = { placed: [], cost: Infinity };
  for (const ranks of orders(full.length)) {
    const tried = arrange(ranks.map((rank) => full[rank]), full, view, small, taken);
    if (tried.cost < best.cost) best = tried;
    if (best.cost < 1) break;
  }
  const { placed } = best;
  for (const one of order.slice(MOST)) {
    const found = seek({ ...one, ...small, lean: 0 }, view, placed);
    if (found) placed.push({ id: one.id, left: found.left, top: found.top, ...small, small: true });
  }
  return order.map((one) => placed.find((spot) => spot.id === one.id)).filter((spot) => spot !== undefined);
}

/** Give each a place, the first one first. @param {Wanted[]} ranked @param {Wanted[]} full
 * @param {{width: number, height: number}} view @param {{width: number, height: number}} small @param {Box[]} taken */
function arrange(ranked, full, view, small, taken) {
  /** @type {Placed[]} */ const placed = [];
  let cost = 0;
  for (const one of ranked) {
    const lean = leaning(one, full);
    const found = seek({ ...one, lean }, view, [...placed, ...taken]);
    if (found) {
      cost += found.cost;
      placed.push({ id: one.id, left: found.left, top: found.top, width: one.width, height: one.height, small: false });
      continue;
    }
    const tiny = seek({ ...one, ...small, lean }, view, placed);
    cost += 100;
    if (tiny) placed.push({ id: one.id, left: tiny.left, top: tiny.top, ...small, small: true });
  }
  return { placed, cost };
}

/** @param {number} count up to three @returns {number[][]} */
function orders(count) {
  if (count < 2) return [[0].slice(0, count)];
  if (count === 2) return [[0, 1], [1, 0]];
  return [[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]];
}

/** Away from whoever talks close by, so that both stay over their heads. @param {Wanted} one @param {Wanted[]} all */
function leaning(one, all) {
  const near = all.filter((other) => other !== one && Math.abs(other.x - one.x) < (other.width + one.width) / 2 + GAP
    && Math.abs(other.y - one.y) < other.height + one.height);
  return Math.sign(near.reduce((sum, other) => sum + (one.x - other.x), 0));
}

/** @param {{x: number, y: number, width: number, height: number, lean: number}} one @param {{width: number, height: number}} view
 * @param {{left: number, top: number, width: number, height: number}[]} others */
function seek(one, view, others) {
  const { width, height } = one;
  const clampX = (/** @type {number} */ left) => Math.round(Math.max(GAP, Math.min(view.width - width - GAP, left)));
  const clampY = (/** @type {number} */ top) => Math.round(Math.max(GAP, Math.min(view.height - height - GAP, top)));
  const [middle, west, east] = [one.x - width / 2, one.x - width + LEAN, one.x - LEAN];
  const lefts = one.lean < 0 ? [west, middle, east] : one.lean > 0 ? [east, middle, west] : [middle, west, east];
  const far = [one.x - width - 20, one.x + 20, one.x - width - 70, one.x + 70];
  /** @type {[number, number][]} */ const tries = [];
  for (let rise = 0; rise <= 4; rise++) {
    const top = one.y - height - rise * (height * 0.5 + GAP);
    for (const left of lefts) tries.push([left, top]);
    if (rise < 2) for (const left of far) tries.push([left, top]);
  }
  tries.push([middle, one.y + 64], [west, one.y + 64], [east, one.y + 64]);
  for (const [at, [left, top]] of tries.entries()) {
    const box = { left: clampX(left), top: clampY(top), width, height };
    if (!others.some((other) => overlaps(box, other))) return { ...box, cost: at / 4 };
  }
  return null;
}

/** @typedef {{left: number, top: number, width: number, height: number}} Box */

/** @param {Box} a @param {Box} b */
export function overlaps(a, b) {
  return a.left < b.left + b.width + GAP && b.left < a.left + a.width + GAP
    && a.top < b.top + b.height + GAP && b.top < a.top + a.height + GAP;
}
