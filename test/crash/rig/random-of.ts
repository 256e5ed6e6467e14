// Random numbers that a seed reproduces.

/** A generator of numbers in [0, 1), the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** The seed of this run: `HOLDFAST_SEED`, or a random one. */
export function seedOfRun(): number {
  return Number(process.env['HOLDFAST_SEED'] ?? Math.trunc(Math.random() * 2 ** 31));
}
