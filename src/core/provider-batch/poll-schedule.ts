// How often a batch is polled.

/** Between two rounds of the provider lane. */
const ROUND_MS_MAX = 1_000;
const ROUND_MS_MIN = 100;

/** How long until the next poll of a batch that has not ended, in milliseconds: each is half as long again, with jitter of a tenth. */
export function pollAgainMs(
  { looks, random }: { looks: number; random: number },
  { min, max }: { min: number; max: number },
): number {
  const plain = Math.min(max, min * 1.5 ** Math.min(looks, 50));
  return plain * (0.9 + 0.2 * random);
}

/**
 * The pause between two rounds of the provider lane, in milliseconds: a second. It is shorter where the configuration lets requests wait less, or
 * has batches polled more often; a pause of a second would make these settings ineffective.
 */
export function laneRoundMs({ windowMs, pollMs }: { windowMs: number; pollMs: { min: number } }): number {
  return Math.min(ROUND_MS_MAX, Math.max(ROUND_MS_MIN, Math.min(windowMs, pollMs.min)));
}
