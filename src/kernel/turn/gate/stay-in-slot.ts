// How often a turn asks again after a call that has failed, and when it keeps its slot meanwhile.
import type { Config } from '../../../config.ts';
import { providerOf, type NamedModel } from '../../../core/model-ref.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { Setback } from '../gate-check.ts';
import { isOpen } from './gate.ts';
import { WAIT_IN_SLOT_MS_MAX } from '../wait-reasons.ts';

/** The number of short interruptions of a provider during which a turn keeps its slot; then it is parked. */
const RETRIES_IN_SLOT_MAX = 2;

/** How often a turn may retry a call of this model. */
export function retriesMaxOf({ models: { providers } }: Config, model: NamedModel): number {
  const provider = providerOf(model);
  const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  return own?.maxRetries ?? providers.anthropic.maxRetries;
}

/**
 * True when a turn whose model has not answered may ask again from its slot (G33). `blocksInARow`: its calls in a row that its provider has held back,
 * with this one.
 */
export function mayStay(
  context: TurnContext,
  { journal }: OpenedTurn,
  { setback: { kind, wait }, model, blocksInARow }: { setback: Setback; model: NamedModel; blocksInARow: number },
): boolean {
  const { config } = context;
  const { park, progress } = journal.at;
  // Another key may be let through. Each of them has been asked when more calls in a row were held back than there are keys.
  if (kind === 'key') return blocksInARow <= context.model.keysOf(model).length && isOpen(context, model);
  if (park !== null || kind === 'away') return false;
  if (kind === 'blocked') return (wait.forMs ?? 0) <= WAIT_IN_SLOT_MS_MAX && blocksInARow <= RETRIES_IN_SLOT_MAX;
  return progress.retries < Math.min(RETRIES_IN_SLOT_MAX, retriesMaxOf(config, model));
}
