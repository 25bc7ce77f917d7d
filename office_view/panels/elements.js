// @ts-check
/** Small things that all panels need. What an agent said is only ever set as text. */

import { person } from "../office/person.js";

/** @param {string} id @returns {any} */
export const $ = (id) => document.getElementById(id);

/** @param {string} tag @param {string} [name] @param {string} [text] @returns {HTMLElement} */
export function element(tag, name = "", text = "") {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text) made.textContent = text;
  return made;
}

const PIECE = 2000;

/** Set somebody's words, as text; long ones in pieces that are laid out each for itself, and of what grows only the end
 * is touched. @param {HTMLElement} made @param {string} text */
export function words(made, text) {
  let count = 0;
  for (let at = 0; at < text.length; count++) {
    const gap = text.length - at > PIECE ? Math.max(text.lastIndexOf("\n", at + PIECE), text.lastIndexOf(" ", at + PIECE)) : -1;
    const end = gap > at ? gap + 1 : Math.min(text.length, at + PIECE);
    const piece = text.slice(at, end);
    const known = made.children[count];
    if (!known) made.append(element("div", "", piece));
    else if (known.textContent !== piece) known.textContent = piece;
    at = end;
  }
  while (made.children.length > count) made.lastElementChild?.remove();
  return made;
}

/** @param {string} text @param {() => void} press @param {string} [name] */
export function button(text, press, name = "") {
  const made = /** @type {HTMLButtonElement} */ (element("button", name, text));
  made.type = "button";
  made.addEventListener("click", press);
  return made;
}

/** Somebody's face. @param {string} name */
export function avatar(name) {
  const made = /** @type {HTMLCanvasElement} */ (element("canvas", "avatar"));
  made.width = 16;
  made.height = 16;
  made.ariaHidden = "true";
  const picture = person(name, "down", { legs: "stand", arms: "down", eyes: "open", mouth: "closed" });
  /** @type {CanvasRenderingContext2D} */ (made.getContext("2d")).drawImage(picture, 0, 0, 16, 16, 0, 0, 16, 16);
  return made;
}
