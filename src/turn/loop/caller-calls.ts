// Tool calls that the client runs (docs/decisions/0069). The agent's calls of the same answer run first and their results are stored; then
// the turn is parked until the client has sent the results of its own, or until they have had their time. A turn that is resumed finds in
// the ledger which of them have come.
import { callerCallId } from '../../core/openai/client-ids.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { TurnStopped } from '../turn-end.ts';
import type { Plan } from './plan-calls.ts';

/** The code of a turn that waits for the client. */
export const CALLER = 'caller';

/** The code of a turn whose client did not send its results in time. */
export const CALLER_TIMEOUT = 'caller_timeout';

/** How much longer the client may take for its results, in milliseconds; at most 0: it has not sent them in time. */
export function callerTimeLeftMs({ config }: TurnContext, { journal }: OpenedTurn): number {
  const { park } = journal.at;
  const waitedMs = park?.code === CALLER ? park.waitedMs : 0;
  return config.openai.callerSeconds * 1000 - waitedMs;
}

/** The stop of a turn that waits for these calls of the client, to be thrown. */
export function awaitsCaller(context: TurnContext, turn: OpenedTurn, plans: readonly Plan[]): TurnStopped {
  const step = turn.journal.at.progress.steps;
  const calls = plans.filter((plan) => plan.kind === 'caller');
  const text = `The turn waits for the client: it has not sent the results of ${calls.map(({ call }) => call.name).join(', ')} yet.`;
  return new TurnStopped({
    kind: 'parked',
    message: text,
    park: {
      reason: { code: CALLER, text, by: null },
      facts: {
        step,
        calls: calls.map(({ call, ordinal }) => ({
          id: callerCallId({ turnId: turn.id, step, ordinal }),
          callId: call.id,
          name: call.name,
        })),
      },
      hasCalled: false,
      delayMs: Math.max(0, callerTimeLeftMs(context, turn)),
      notBeforeMs: 0,
    },
  });
}

/** The plans of a turn whose client has not sent its results in time: each open call gets a result that reports it. */
export function withoutCaller(plans: readonly Plan[]): Plan[] {
  return plans.map((plan) =>
    plan.kind === 'caller'
      ? {
          ...plan,
          kind: 'known',
          status: 'failed',
          outcome: { content: 'No result came from the client.', isError: true },
        }
      : plan,
  );
}
