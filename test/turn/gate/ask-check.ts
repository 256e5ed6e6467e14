// Asks a check of the gate as a call of a session would.
import type { NamedModel } from '../../../src/core/models.ts';
import type { GateCheck, ComingCall, Hold } from '../../../src/kernel/turn/gate-check.ts';
import { ModelError } from '../../../src/model/model.ts';

/** The fault of a call whose provider does not answer. */
export function away(retryAfterMs: number): ModelError {
  return new ModelError({ type: 'overloaded_error', status: 503, retryAfterMs, message: 'away' });
}

/**
 * What the check holds for a call of a session; null: it does not let it through, or holds nothing.
 */
export async function holdOf(check: GateCheck, model: NamedModel, session: string): Promise<Hold | null> {
  // It reads no more of a turn than this.
  const turn = { session: { id: session }, journal: { at: { park: null } } };
  const call = { way: 'live', model, turn } as unknown as ComingCall;
  const answer = await check.ask(call, 0);
  return answer.kind === 'pass' ? (answer.hold ?? null) : null;
}
