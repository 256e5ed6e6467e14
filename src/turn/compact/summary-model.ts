// Which model writes the summary of a compaction.
import { modelRefOf } from '../../config.ts';
import { modelOfRef } from '../../core/model-ref.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { providerOf } from '../loop/await-model.ts';
import type { TurnContext } from '../context.ts';
import { providerView } from '../open/open-view.ts';
import type { OpenedTurn } from '../opened-turn.ts';

/** The configured model; that of the turn while the provider of the configured one is away, so that the turn does not wait for both. */
export function summaryModel(
  context: TurnContext,
  { agent, journal, session }: OpenedTurn,
): Pick<ModelRequest, 'provider' | 'model'> {
  const { request } = journal.attempt;
  const own = { ...providerView(request), model: request.model };
  const wanted = agent.compaction.model;
  if (wanted === undefined) return own;
  const ref = modelRefOf(agent, wanted);
  if (ref !== null && context.model.providers.some((provider) => ref.startsWith(`${provider}/`))) {
    const named = modelOfRef(ref);
    return context.gate.isOpen(providerOf(named)) ? named : own;
  }
  context.logger.warn({ sessionKey: session.key, model: wanted }, 'Model for compactions is not configured');
  return own;
}
