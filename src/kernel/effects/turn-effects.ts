// What the end of a turn leaves to be done beside its own session. `finish-turn` stores it as rows of `holdfast.effects`, and a transaction of
// its own carries it out (`carry-out.ts`).
import type { MessageId, SessionId, TurnId } from '../../core/ids.ts';
import type { RunResult } from '../../features/subagents/rules/run-end.ts';

export type TurnEffect =
  /** A turn of a subagent that works on a run: the run ends with it, if `end` says how; one that was stopped meanwhile counts the turn. */
  | { kind: 'run-ended'; turnId: TurnId; runId: string | null; end: RunResult | null }
  /** A message for another session. */
  | { kind: 'message-sent'; turnId: TurnId; message: SentMessage }
  /** The turn answered a heartbeat. */
  | { kind: 'poll-answered'; turnId: TurnId; result: PollResult }
  /** The turn may have requests to a batch of the provider, which nothing needs any more. */
  | { kind: 'requests-left'; turnId: TurnId };

export type EffectOf<Kind extends TurnEffect['kind']> = Extract<TurnEffect, { kind: Kind }>;

export type PollResult = 'acknowledged' | 'alert' | 'duplicate' | 'failed';

export interface SentMessage {
  id: MessageId;
  sessionId: SessionId;
  /** As JSON text. */
  body: string;
  route: string;
  /** There is one message for each. */
  causeKey: string;
}
