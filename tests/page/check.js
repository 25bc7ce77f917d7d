// @ts-check
/** Just enough to write a check that runs in node and in a browser alike. */

/** @type {[string, () => void][]} */
const checks = [];

/** @param {string} name @param {() => void} run */
export function check(name, run) { checks.push([name, run]); }

/** @param {unknown} got @param {unknown} wanted */
export function same(got, wanted) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`got ${a}, wanted ${b}`);
}

/** @param {unknown} value @param {string} [what] */
export function holds(value, what = "it") { if (!value) throw new Error(`${what} does not hold`); }

/** @returns {string[]} what failed, and how many were run */
export function run() {
  const failed = [];
  for (const [name, body] of checks) {
    try {
      body();
    } catch (error) {
      failed.push(`${name}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return [...failed, `${checks.length - failed.length} passed, ${failed.length} failed`];
}
