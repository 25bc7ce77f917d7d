"""What a frame of the office costs: fifty people walking and ten talking, against an empty office, in one run."""

from __future__ import annotations

import tempfile
from pathlib import Path

from support import server
from windows import Window, browser

FRAMES = """
async () => {
  const { Scene } = await import('/office/scene.js');
  const { Camera } = await import('/office/camera.js');
  const { Utterance } = await import('/office/bubbles.js');
  const { office, state } = window.page;
  const canvas = Object.assign(document.createElement('canvas'), { width: 1280, height: 800 });
  const context = canvas.getContext('2d', { alpha: false });
  const measure = (people, talkers, hour) => {
    const camera = new Camera();
    const scene = new Scene(camera);
    scene.fixedHour = hour;
    camera.resize(1280, 800, 1);
    scene.furnish(state.office);
    const made = { agents: new Map(), leaving: new Map(), rooms: new Map() };
    for (let n = 0; n < people; n++) {
      const path = Array.from({ length: 400 }, (_, at) => ({ x: 1 + ((n + at) % 15), y: 2 + (n % 15) }));
      made.agents.set(`a${n}`, { agent_id: `a${n}`, name: `P${n}`, role: 'r', state: n < talkers ? 'speaking' : 'idle',
        room_id: null, path, started_at: 0, ms_per_tile: 333, facing: 'down' });
      if (n >= talkers) continue;
      const said = new Utterance(`u${n}`, n);
      said.says('Somebody says a sentence or two. '.repeat(8), false);
      scene.words.set(`a${n}`, said);
    }
    const times = [];
    for (let frame = 0; frame < 300; frame++) {
      const now = 10 + frame / 60;
      const begun = performance.now();
      scene.prepare(made, now);
      scene.draw(context, now);
      context.getImageData(0, 0, 1, 1);
      if (frame >= 60) times.push(performance.now() - begun);
    }
    times.sort((a, b) => a - b);
    return [times[Math.floor(times.length / 2)], times[Math.floor(times.length * 0.95)]];
  };
  return [measure(0, 0, 11), measure(50, 10, 11), measure(50, 10, 23)];
}
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name, server(Path(name)) as started, browser() as found:
        window = Window(found, started, viewport={"width": 1280, "height": 800})
        window.open()
        window.until("state.office")
        empty, full, night = window.page.evaluate(FRAMES)
    print(
        f"a frame of the office: empty {empty[0]:.1f} ms; 50 walking, 10 talking {full[0]:.1f} ms (p95 {full[1]:.1f}), "
        f"{full[0] / empty[0]:.1f} ×; by night p95 {night[1]:.1f} ms"
    )


if __name__ == "__main__":
    main()
