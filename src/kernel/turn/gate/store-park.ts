// How a turn waits that is not to wait in its slot (G33): it is parked, and holds neither a lock nor a slot. It gives up when it has waited for a model
// for `models.outage.giveUpAfter`, or when all of its messages have expired.
import type { AfterCommit } from '../../queue/after-commit.ts';
import { given } from '../../../core/given.ts';
import { lastExpiry } from '../../rules/message-expiry.ts';
import type { NewEvent } from '../../events/events.ts';
import type { Reason } from '../../rules/why.ts';
import type { TurnContext } from '../context.ts';
import { modelBlocked, modelEnded } from '../model-events.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { TurnFailed, TurnStopped, type TurnWait } from '../turn-stop.ts';
import { reportCalls } from '../turn-log.ts';
import { NO_ROWS } from '../turn-write.ts';
import type { GateCheck, Wait } from '../gate-check.ts';
import { PASS } from '../gate-check.ts';
import { expiredText, givenUpText, isOutage } from '../wait-reasons.ts';

type Patience = Pick<TurnContext, 'config' | 'clock'>;

/** Lets no live call through when its turn has waited for as long as it may. */
export function patienceCheck(context: Patience): GateCheck {
  return {
    applies: ({ way }) => way === 'live',
    ask({ turn }) {
      // A turn that does not wait yet is about to ask its model.
      const reason = turn.journal.at.park ?? { code: 'model_away', text: '' };
      return patienceMs(context, turn, reason) > 0 ? PASS : { kind: 'fail', failure: givenUp(context, turn, reason) };
    },
  };
}

/** How long a turn pauses or is parked, in milliseconds; infinite: until it is woken. */
export function toDelay({ forMs, spreadMs = 0 }: Pick<Wait, 'forMs' | 'spreadMs'>, random: number): number {
  return forMs === null ? Number.POSITIVE_INFINITY : forMs + random * spreadMs;
}

/** The stop with which a turn is parked, to be thrown. Throws `TurnFailed` when it has waited for as long as it may. */
export function parkedStop(context: TurnContext, turn: OpenedTurn, wait: Wait): TurnStopped {
  const leftMs = patienceMs(context, turn, wait.reason);
  if (leftMs <= 0) throw givenUp(context, turn, wait.reason);
  const delayMs = Math.min(toDelay(wait, context.random()), leftMs);
  return waitStop({ hasCalled: false, notBeforeMs: 0, ...wait, delayMs: Number.isFinite(delayMs) ? delayMs : null });
}

/** The same for a wait with a bound of its own. */
export function waitStop(wait: TurnWait): TurnStopped {
  return new TurnStopped({ kind: 'parked', message: wait.reason.text, wait });
}

type Cause = Pick<Reason, 'code' | 'text'>;

/** How much longer a turn may wait for such a reason, in milliseconds. */
function patienceMs({ config, clock }: Patience, { journal }: OpenedTurn, { code }: Cause): number {
  const { inputs, progress, park } = journal.at;
  const expiresAt = lastExpiry(inputs);
  // A turn that has begun to answer does not fail because of its message's expiry alone while it waits for its model.
  const isBegun = progress.steps > 0 && park === null && isOutage(code);
  const untilExpiryMs = expiresAt === null || isBegun ? Number.POSITIVE_INFINITY : expiresAt - clock.now().getTime();
  const waitedMs = park !== null && isOutage(park.code) ? park.waitedMs : 0;
  return Math.min(isOutage(code) ? config.models.outage.giveUpAfter - waitedMs : untilExpiryMs, untilExpiryMs);
}

function givenUp({ config, clock }: Patience, { journal }: OpenedTurn, { code, text }: Cause): TurnFailed {
  const why = text === '' ? '' : ` Last: ${text}`;
  const expiresAt = lastExpiry(journal.at.inputs);
  if (expiresAt !== null && expiresAt <= clock.now().getTime())
    return new TurnFailed('expired', expiredText(expiresAt) + why);
  return new TurnFailed(code, givenUpText(config.models.outage.giveUpAfter) + why);
}

/**
 * Parks a turn, with the failed call that is the reason for it, if there is one. Resolves with the rings that this needs. Throws
 * `TurnStopped` when another worker holds the session.
 */
export async function storePark(context: TurnContext, turn: OpenedTurn, wait: TurnWait): Promise<AfterCommit> {
  const { journal, session } = turn;
  const { park } = journal.at;
  const failed = journal.attempt.unstoredCall;
  const { reason, delayMs, retries, hasCalled } = wait;
  const events: NewEvent[] = failed === null ? [] : [modelEnded(turn, failed, delayMs ?? undefined)];
  // A turn that was woken and not let through continues to wait: that is no new event.
  if (park?.code !== reason.code || hasCalled) {
    const dueInMs = delayMs === null ? null : Math.ceil(delayMs);
    events.push({ type: 'turn.parked', data: { ...reason, ...wait.facts, dueInMs } });
  }
  if (wait.isNews === true) events.push(modelBlocked(reason));
  await context.deltas.take({ sessionId: session.id, epoch: turn.held.epoch, turnId: turn.id });
  const modelCalls = failed === null ? [] : [failed];
  const write = { ...NO_ROWS, modelCalls, events, totals: given({ retries }) };
  // The wait counts from the model's last answer, whatever the current reason is: alternating reasons must not extend it.
  // After a wait that has another bound, the next one starts a new count.
  const isFirst = park === null || (!isOutage(park.code) && park.code !== reason.code);
  const parks = isFirst ? 1 : park.parks + (hasCalled ? 1 : 0);
  const { heldSeq } = session;
  const { after } = await journal.store(write, (rows) => context.store.parkTurn({ ...rows, ...wait, heldSeq, parks }));
  reportCalls(context, turn, modelCalls);
  context.transcripts.keep(session.id, turn.transcript);
  wait.onParked?.();
  return after;
}
