// Which harness answers a turn: chosen once, when the turn is opened, and stored with it. A turn that a harness has started is never continued
// by another: when that harness fails, or no longer exists, the turn fails (G11).
import type { RequestBase } from '../../../core/model-request.ts';
import type { AgentSettings } from '../../../config.ts';
import { BUILT_IN_HARNESS, selectHarness } from '../../../core/harness-selection.ts';
import { DEFAULT_PROVIDER } from '../../../core/model-ref.ts';
import { hasEffects } from '../../../core/session-key.ts';
import type { TurnRequestSettings } from '../../../core/view.ts';
import type { TurnContext } from '../context.ts';
import { TurnFailed } from '../turn-stop.ts';

/** What the opening of a turn decides about its harness; `failure`: the one that must answer is not there. */
export function chooseHarness(
  context: TurnContext,
  agent: AgentSettings,
  { request, session }: { request: RequestBase; session: { kind: string } },
): { view: Pick<TurnRequestSettings, 'harness'>; failure: TurnFailed | null } {
  const target = harnessTarget(request);
  const candidates = context.plugins.harnesses.map((harness) => ({
    id: harness.id,
    priority: harness.priority,
    isSupporting: harness.supports(target),
  }));
  const { kind, id, reason } = selectHarness(agent.harness, candidates);
  if (!hasEffects(session) && id !== BUILT_IN_HARNESS)
    return { view: { harness: { id, reason } }, failure: refusedHarness(id) };
  if (kind === 'missing') return { view: { harness: { id, reason } }, failure: missingHarness(id) };
  // What is not written is the built-in, because nothing else was there to choose.
  return { view: reason === 'auto_fallback' ? {} : { harness: { id, reason } }, failure: null };
}

/** A harness may run tools of its own, which may change something. */
function refusedHarness(id: string): TurnFailed {
  return new TurnFailed(
    'harness_missing',
    `The harness "${id}" answers turns of this agent. It may change things by itself, and nothing in this session may. Use another model, or an agent that the built-in harness answers.`,
  );
}

/** The model that a harness is asked for. */
export function harnessTarget({ provider, model }: RequestBase): { provider: string; model: string } {
  return { provider: provider ?? DEFAULT_PROVIDER, model };
}

/** The end of a turn whose harness is not there. */
export function missingHarness(id: string): TurnFailed {
  return new TurnFailed(
    'harness_missing',
    `The harness "${id}" answers this turn, and no plugin of this worker provides it.`,
  );
}
