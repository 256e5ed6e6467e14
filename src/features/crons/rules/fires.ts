// What the due slots of crons become: fires, with the inputs and events that they cause. Decided while the crons and their sessions are locked.
import type { MessageId, SessionId } from '../../../core/ids.ts';
import type { Tick } from '../../../core/schedule/plan-ticks.ts';

/** What a tick puts into its session: an input, or a line for the next prompt with a poll that makes sure that a turn reads it. */
export interface TickEffect {
  sessionId: SessionId;
  /** The kind of the input; null: only a line is left. */
  kind: 'cron' | 'heartbeat' | null;
  /** The body of the input, as JSON text. */
  body: string;
  route: string;
  event: { id: string; text: string; contextKey: string; isTrusted: boolean } | null;
  /** The most messages that may wait in the session. */
  waitingMax: number;
}

/** The plan for the due slots of one cron. */
export interface Firing extends TickEffect {
  cronId: string;
  /** What the plan was made from: the cron's revision and the first slot without a result. */
  revision: number;
  firstSlotMs: number;
  /** Oldest first. `messageId`: of the input that a slot causes if it fires. */
  ticks: { tick: Tick; messageId: MessageId }[];
  /** Null: nothing follows. */
  nextSlotMs: number | null;
  dueMs: number | null;
  /** Set: the cron is switched off for this reason. */
  disabledReason: string | null;
}

/** A cron that is locked, with its session. */
export interface HeldCron {
  cronId: string;
  name: string;
  waiting: number;
  lastEventText: string | null;
}

/** A row of `cron_fires`. */
export interface Fire {
  cronId: string;
  slotMs: number;
  status: 'claimed' | 'completed' | 'missed' | 'skipped';
  /** The input that it waits for; null: it waits for none. */
  messageId: MessageId | null;
  reason: string | null;
  /** How many slots share the row. */
  slots: number;
  isFired: boolean;
}

/** A fire with what its session gets: an input if it has a `messageId`, and a line of text if it leaves one. */
export interface DecidedFire extends Fire {
  effect: TickEffect;
  cronName: string;
  leavesLine: boolean;
}

/** Why a slot that was to fire did not: the inbox of its session is full. */
const INBOX_FULL = 'inbox_full';

/** Why a slot that fired left no line: the same one waits already, or a later slot left it. */
const DUPLICATE = 'duplicate';

/** The name of a slot: a slot has at most one fire, and its input this cause. */
export const formatSlot = (cronId: string, slotMs: number): string => `cron:${cronId}:${(slotMs / 1000).toFixed(6)}`;

/**
 * Decides about plans, in their order. `held` has their crons, which several of them may share a session with; `known` the slots that have a fire
 * already, such as a run on request in the same millisecond: they stay as they are.
 */
export function decideFires(
  firings: readonly Firing[],
  held: ReadonlyMap<string, HeldCron>,
  known: ReadonlySet<string>,
): DecidedFire[] {
  // Of each session, what it will have.
  const sessions = new Map<SessionId, Pick<HeldCron, 'waiting' | 'lastEventText'>>();
  return firings.flatMap((firing) => {
    // Only plans whose crons are held are decided.
    const { name, waiting, lastEventText } = held.get(firing.cronId)!;
    const session = sessions.get(firing.sessionId) ?? { waiting, lastEventText };
    sessions.set(firing.sessionId, session);
    const latest = firing.ticks.findLast(({ tick }) => tick.kind === 'fire');
    return firing.ticks.flatMap((planned): DecidedFire[] => {
      const { tick, messageId } = planned;
      if (known.has(formatSlot(firing.cronId, tick.slotMs))) return [];
      const fire = { cronId: firing.cronId, slotMs: tick.slotMs, effect: firing, cronName: name };
      if (tick.kind !== 'fire') {
        const { kind: status, reason, count: slots } = tick;
        return [{ ...fire, status, reason, slots, messageId: null, isFired: false, leavesLine: false }];
      }
      const hasRoom = session.waiting < firing.waitingMax;
      const isNew = firing.event === null || (planned === latest && session.lastEventText !== firing.event.text);
      const hasInput = firing.kind !== null && hasRoom && isNew;
      if (hasInput) session.waiting += 1;
      const one = {
        ...fire,
        slots: 1,
        messageId: hasInput ? messageId : null,
        leavesLine: firing.event !== null && isNew,
      };
      if (firing.event === null && !hasRoom) return [{ ...one, status: 'skipped', reason: INBOX_FULL, isFired: false }];
      if (isNew && firing.event !== null) session.lastEventText = firing.event.text;
      return [{ ...one, status: hasInput ? 'claimed' : 'completed', reason: isNew ? null : DUPLICATE, isFired: true }];
    });
  });
}
