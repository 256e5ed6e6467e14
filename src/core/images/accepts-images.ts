// Which models are shown images. Nearly all take them, so those that do not are the ones that are named.
import { matchesPattern } from '../matches-pattern.ts';

/** False when one of the patterns (`provider/model`, with `*` for any characters) names the model. */
export function acceptsImages(model: string, textOnlyModels: readonly string[]): boolean {
  return !textOnlyModels.some((pattern) => matchesPattern(model, pattern));
}
