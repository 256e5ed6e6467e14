// How often a batch is looked at.

/** How long until the next look at a batch that has not ended, in milliseconds: each is half as long again, with jitter of a tenth. */
export function pollAgainMs(
  { looks, random }: { looks: number; random: number },
  { min, max }: { min: number; max: number },
): number {
  const plain = Math.min(max, min * 1.5 ** Math.min(looks, 50));
  return plain * (0.9 + 0.2 * random);
}
