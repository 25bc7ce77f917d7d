// @ts-check
/** Chance that is the same for everybody who looks: numbers out of words. Pure. */

/** @param {string} text @returns {number} 32 bits, well mixed */
export function hash(text) {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

/** @param {string} text @returns {number} from 0 up to 1 */
export const chance = (text) => hash(text) / 2 ** 32;

/** @template T @param {readonly T[]} choices @param {string} text @returns {T} */
export const pick = (choices, text) => choices[hash(text) % choices.length];
