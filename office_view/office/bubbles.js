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

/** Words in pages of a few lines; a word that is too long is broken.
 * @param {string} text @param {number} [across] @param {number} [lines] @returns {string[][]} */
export function pages(text, across = ACROSS, lines = LINES) {
  /** @type {string[]} */ const all = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(/\s+/).filter(Boolean)) {
      let rest = [...word];
      if (line && [...line].length + 1 + rest.length <= across) { line += ` ${word}`; continue; }
      if (line) all.push(line);
      while (rest.length > across) { all.push(rest.slice(0, across).join("")); rest = rest.slice(across); }
      line = rest.join("");
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

  /** All that was said so far. @param {string} text @param {boolean} over */
  says(text, over) {
    if (text !== this.text) {
      const grew = this.text.length < LONGEST || text.length < LONGEST;
      this.text = text;
      if (grew) this.pages = pages(text.length < LONGEST ? text : `${text.slice(0, LONGEST)} … ${MORE}`);
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
  /** @type {Placed[]} */ const placed = [];
  for (const [rank, one] of order.entries()) {
    const lean = leaning(one, order.slice(0, MOST));
    const size = rank < MOST ? { ...one, lean } : { ...one, ...small, lean };
    const found = seek(size, view, [...placed, ...taken]) ?? seek({ ...one, ...small, lean }, view, placed);
    if (found) placed.push({ id: one.id, ...found, small: found.width === small.width && found.height === small.height });
  }
  return placed;
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
  const clampX = (/** @type {number} */ left) => Math.max(GAP, Math.min(view.width - width - GAP, left));
  const clampY = (/** @type {number} */ top) => Math.max(GAP, Math.min(view.height - height - GAP, top));
  const [middle, west, east] = [one.x - width / 2, one.x - width + LEAN, one.x - LEAN];
  const lefts = one.lean < 0 ? [west, middle, east] : one.lean > 0 ? [east, middle, west] : [middle, west, east];
  lefts.push(one.x - width - 20, one.x + 20);
  for (let rise = 0; rise <= 6; rise++) {
    for (const left of lefts) {
      const box = { left: Math.round(clampX(left)), top: Math.round(clampY(one.y - height - rise * (height * 0.5 + GAP))), width, height };
      if (!others.some((other) => overlaps(box, other))) return box;
    }
  }
  return null;
}

/** @typedef {{left: number, top: number, width: number, height: number}} Box */

/** @param {Box} a @param {Box} b */
export function overlaps(a, b) {
  return a.left < b.left + b.width + GAP && b.left < a.left + a.width + GAP
    && a.top < b.top + b.height + GAP && b.top < a.top + a.height + GAP;
}
