// @ts-check
/** Soft chimes, off unless somebody wants them. Made by hand, nothing is loaded. */

/** @type {AudioContext | null} */
let context = null;

/** @param {number[]} notes in Hz */
function chime(notes) {
  context ??= new AudioContext();
  if (context.state === "suspended") return void context.resume();  // nobody has touched the page yet
  notes.forEach((note, at) => {
    const audio = /** @type {AudioContext} */ (context);
    const when = audio.currentTime + at * 0.12;
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    tone.type = "triangle";
    tone.frequency.value = note;
    volume.gain.setValueAtTime(0, when);
    volume.gain.linearRampToValueAtTime(0.06, when + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.0004, when + 0.5);
    tone.connect(volume).connect(audio.destination);
    tone.start(when);
    tone.stop(when + 0.55);
  });
}

export const speaks = () => chime([660]);
export const asks = () => chime([784, 587]);
export const ends = () => chime([523, 659, 784]);
