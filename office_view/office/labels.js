// @ts-check
/** Words over the office, unscaled: name plates and bubbles, drawn once each and kept as pictures. */

/** @typedef {import("../art/pixels.js").Picture} Picture */

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const INK = "#2d2622";
const PAPER = "#fffdf6";
const LINE = "#4a3d38";
const DOTS = /** @type {Record<string, string>} */ ({ idle: "#8d8791", listening: "#d99a2b", thinking: "#d99a2b", speaking: "#3f9b63" });

/** @type {Map<string, Picture>} */
const kept = new Map();
const probe = /** @type {OffscreenCanvasRenderingContext2D} */ (new OffscreenCanvas(1, 1).getContext("2d"));

/** @param {string} key @param {number} width @param {number} height @param {number} ratio
 * @param {(context: OffscreenCanvasRenderingContext2D) => void} draw @returns {Picture} */
function once(key, width, height, ratio, draw) {
  const name = `${ratio} ${key}`;
  let found = kept.get(name);
  if (!found) {
    if (kept.size > 500) kept.clear();
    found = new OffscreenCanvas(Math.ceil(width * ratio), Math.ceil(height * ratio));
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (found.getContext("2d"));
    context.scale(ratio, ratio);
    context.textBaseline = "middle";
    draw(context);
    kept.set(name, found);
  }
  return found;
}

/** @param {string} text @param {string} [font] */
export function widthOf(text, font = `14px ${FONT}`) {
  probe.font = font;
  return probe.measureText(text).width;
}

/** Somebody's name and role, with a dot for the state.
 * @param {string} name @param {string} role @param {string} state @param {boolean} marked @param {number} ratio */
export function plate(name, role, state, marked, ratio) {
  const bold = `600 12px ${FONT}`;
  const soft = `12px ${FONT}`;
  const shown = role.length > 18 ? `${role.slice(0, 17)}…` : role;
  if (name.length > 16) name = `${name.slice(0, 15)}…`;
  const nameWidth = widthOf(name, bold);
  const width = nameWidth + (shown ? widthOf(shown, soft) + 4 : 0) + 26;
  return once(`plate ${name} ${shown} ${state} ${marked}`, width, 18, ratio, (context) => {
    context.fillStyle = marked ? "rgba(154, 90, 31, 0.94)" : "rgba(38, 31, 36, 0.80)";
    context.beginPath();
    context.roundRect(0, 0, width, 18, 9);
    context.fill();
    context.fillStyle = DOTS[state] ?? DOTS.idle;
    context.beginPath();
    context.arc(10, 9, 3.5, 0, 7);
    context.fill();
    context.font = bold;
    context.fillStyle = "#fffaf2";
    context.fillText(name, 18, 9.5);
    context.font = soft;
    context.fillStyle = "#e0d5cb";
    context.fillText(shown, 22 + nameWidth, 9.5);
  });
}

const PAD = 10;
const LEADING = 18;
export const SMALL = { width: 34, height: 22 };

/** The size of a bubble. @param {string[]} lines */
export function bubbleSize(lines) {
  const font = `14px ${FONT}`;
  const width = Math.max(40, ...lines.map((line) => widthOf(line, font))) + 2 * PAD;
  return { width: Math.ceil(width), height: lines.length * LEADING + PAD + 4 };
}

/** @param {string[]} lines @param {string} count "1/3" @param {"speech" | "small" | "alarm"} kind @param {number} ratio
 * @param {{width: number, height: number}} size */
export function bubble(lines, count, kind, ratio, size) {
  const { width, height } = size;
  return once(`bubble ${kind} ${count} ${width} ${lines.join("\n")}`, width + 2, height + 3, ratio, (context) => {
    context.translate(1, 1);
    context.fillStyle = "rgba(45, 30, 35, 0.22)";
    context.beginPath();
    context.roundRect(0, 2, width - 1, height - 2, 8);
    context.fill();
    context.fillStyle = kind === "alarm" ? "#ffe2a8" : PAPER;
    context.strokeStyle = kind === "alarm" ? "#9a5b00" : LINE;
    context.lineWidth = 1.25;
    context.beginPath();
    context.roundRect(0, 0, width - 1, height - 2, 8);
    context.fill();
    context.stroke();
    context.fillStyle = INK;
    context.font = kind === "small" ? `600 14px ${FONT}` : `14px ${FONT}`;
    context.direction = "ltr";
    lines.forEach((line, at) => context.fillText(line, PAD, PAD + 4 + at * LEADING + (kind === "small" ? -3 : 0)));
    if (count) {
      context.font = `11px ${FONT}`;
      context.fillStyle = "#8a7b72";
      context.textAlign = "right";
      context.fillText(count, width - PAD + 2, height - 9);
    }
  });
}

/** What somebody is at: a small pill. @param {string} text @param {"tool" | "ask" | "alarm" | "zzz"} kind @param {number} ratio */
export function pill(text, kind, ratio) {
  const font = `12px ${FONT}`;
  const shown = text.length > 34 ? `${text.slice(0, 33)}…` : text;
  const width = Math.ceil(widthOf(shown, font)) + 18;
  return once(`pill ${kind} ${shown}`, width, 20, ratio, (context) => {
    context.fillStyle = { alarm: "#ffe2a8", ask: "#94541a", zzz: "#dfe4f2", tool: "#e4f4ee" }[kind];
    context.strokeStyle = { alarm: "#9a5b00", ask: "#5a2f0a", zzz: "#4a4d5c", tool: "#4a4d5c" }[kind];
    context.beginPath();
    context.roundRect(0.5, 0.5, width - 1, 19, kind === "ask" ? 9.5 : 6);
    context.fill();
    context.stroke();
    context.font = font;
    context.fillStyle = kind === "ask" ? "#fffaf2" : INK;
    context.fillText(shown, 9, 10.5);
  });
}
