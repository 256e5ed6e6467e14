// What the end of a turn leaves to be done beside its own session. `finish-turn` stores it as rows
// of `holdfast.effects`, and a transaction of its own carries it out (`carry-out.ts`), with a
// function of the feature whose effect it is.
import type { MessageId, SessionId, TurnId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import type { Transaction } from '../../database/transaction.ts';
import type { NewEvent } from '../events/events.ts';
import type { NotNeeded, PutInput } from '../inbox/put-inputs.ts';
import type { QueueModes, RunResult } from '../rules/family.ts';
import type { LockedFamily, RunRow } from '../sessions/family-rows.ts';

/**
 * The kinds of effects, each with what it stores beside its turn. A feature adds its own to this
 * interface, where it carries them out.
 */
export interface EffectKinds {
  /**
   * A turn of a subagent that works on a run: the run ends with it, if `end` says how; one that was
   * stopped meanwhile counts the turn.
   */
  'run-ended': { runId: string | null; end: RunResult | null };
  /** A message for another session. */
  'message-sent': { message: SentMessage };
}

export type EffectOf<Kind extends keyof EffectKinds> = { kind: Kind; turnId: TurnId } & EffectKinds[Kind];

export type TurnEffect = { [Kind in keyof EffectKinds]: EffectOf<Kind> }[keyof EffectKinds];

export interface SentMessage {
  id: MessageId;
  sessionId: SessionId;
  /** JSON text. */
  body: string;
  route: string;
  /** There is one message for each. */
  causeKey: string;
}

/** What a transaction puts into inboxes at its end. */
export interface Told {
  inputs: PutInput[];
  events: (NewEvent & { sessionId: SessionId })[];
}

export const NOTHING: Told = { inputs: [], events: [] };

/**
 * A run that works and is stopped; `settled`: how its announcement is stored where it need not
 * wait.
 */
export interface RunStop {
  run: RunRow;
  end: RunResult;
  settled: NotNeeded | null;
}

/**
 * Carries out an effect of a session, in a transaction that has locked it, the sessions above it,
 * and those that get a message.
 */
export type CarryOut<Effect> = (
  tx: Transaction,
  effect: Effect,
  held: LockedFamily & { sessionId: SessionId },
) => Told | Promise<Told>;

/**
 * Who carries out what; an effect of another kind stays until there is one. A stopped run is no
 * row: the transaction that stops it ends it.
 */
export type Effects = { readonly [Kind in TurnEffect['kind']]?: CarryOut<EffectOf<Kind>> } & {
  readonly 'run-stopped'?: (tx: Transaction, stop: RunStop, family: LockedFamily['family']) => Told;
};

/** The database, who carries out what in it, and how messages reach busy sessions. */
export interface EffectParts {
  config: { messages: { queue: QueueModes } };
  database: Database;
  effects: Effects;
}
