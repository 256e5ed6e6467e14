// Tool calls that an OpenAI client runs (docs/decisions/0069). The agent's calls of the same answer
// run first; the turn is parked until the client has sent the results of its own, and fails if it
// does not in time.
import { findCaller, findCallerTool } from '../../core/input-options.ts';
import { callerCallId } from '../../core/client-ids.ts';
import type { TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import type { NewHold, Known, Resumption } from '../../kernel/turn/hold-kind.ts';
import { CALLER_TIMEOUT, TurnFailed } from '../../kernel/turn/turn-stop.ts';

const ONE_AT_A_TIME: Known = {
  kind: 'known',
  outcome: { content: 'Not run: the client runs one of its tools at a time. Call it again.', isError: true },
  status: null,
};

const NO_RESULT: Known = {
  kind: 'known',
  outcome: { content: 'No result came from the client.', isError: true },
  status: 'failed',
};

export function clientTools({ config }: TurnParts): TurnFeature {
  return {
    calls: {
      code: 'caller',
      async hold({ journal }, calls) {
        const caller = findCaller(journal.at.inputs);
        const { callerNames } = journal.attempt.requests.rules.view;
        // The agent may have got a tool of this name since the turn was opened. A turn of an
        // earlier version had none of a client's in its place.
        const isKnown = callerNames !== undefined;
        const own = calls.filter(
          ({ call, tool }) =>
            (isKnown || tool === undefined) && findCallerTool(caller, callerNames ?? [], call.name) !== undefined,
        );
        const forMs = config.openai.callerSeconds * 1000;
        return new Map(
          own.map(({ ordinal }, index): [number, NewHold | Known] =>
            index > 0 && caller?.isParallel === false
              ? [ordinal, ONE_AT_A_TIME]
              : [ordinal, { kind: 'held', code: 'caller', forMs }],
          ),
        );
      },
      async resume({ journal }, calls) {
        const waitedMs = journal.at.park?.waitedMs ?? 0;
        return new Map(
          calls.map(({ ordinal, leftMs }): [number, Resumption] => {
            // A row of an earlier version does not say until when it waits.
            const forMs = leftMs ?? config.openai.callerSeconds * 1000 - waitedMs;
            return [ordinal, forMs <= 0 ? NO_RESULT : { kind: 'held', forMs }];
          }),
        );
      },
      explain({ id: turnId, journal }, calls) {
        const step = journal.at.progress.steps;
        return {
          text: `The turn waits for the client: it has not sent the results of ${calls.map(({ call }) => call.name).join(', ')} yet.`,
          by: null,
          facts: {
            step,
            calls: calls.map(({ call, ordinal }) => ({
              id: callerCallId({ turnId, step, ordinal }),
              callId: call.id,
              name: call.name,
            })),
          },
        };
      },
      lateFailure() {
        const seconds = config.openai.callerSeconds;
        const message = `The client did not send the results of its tools within ${seconds} s (openai.callerSeconds).`;
        return new TurnFailed(CALLER_TIMEOUT, message);
      },
    },
  };
}
