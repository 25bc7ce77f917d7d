// @ts-check
/** Where somebody is at a moment, out of the whole walk that the server told. Pure. */

/** @typedef {{x: number, y: number}} Tile */
/** @typedef {{path: Tile[], started_at: number, ms_per_tile: number, facing: string}} Walk */

/** @param {Walk} walk @param {number} now in seconds, by the server's clock
 * @returns {{x: number, y: number, facing: string, walking: boolean, arrived: boolean, begun: boolean, share: number}} */
export function whereabouts(walk, now) {
  const { path } = walk;
  const last = path[path.length - 1];
  const done = ((now - walk.started_at) * 1000) / walk.ms_per_tile;
  if (path.length < 2 || done >= path.length - 1) {
    return { ...last, facing: walk.facing, walking: false, arrived: true, begun: true, share: 1 };
  }
  if (done < 0) return { ...path[0], facing: heading(path[0], path[1]), walking: false, arrived: false, begun: false, share: 0 };
  const step = Math.floor(done);
  const [from, to] = [path[step], path[step + 1]];
  const part = done - step;
  return {
    x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part, facing: heading(from, to), walking: true,
    arrived: false, begun: true, share: done / (path.length - 1),
  };
}

/** @param {Tile} from @param {Tile} to @returns {string} */
export function heading(from, to) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  if (Math.abs(dx) >= Math.abs(dy)) return dx > 0 ? "right" : "left";
  return dy > 0 ? "down" : "up";
}
