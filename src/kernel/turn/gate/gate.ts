// The gate before every model call: a list of checks (gate-check.ts), asked in order.
//
//   pass   the next check is asked; after the last one the call is made
//   wait   what the others hold is left. A short wait happens here, and the list is asked again
//          from its start; for a longer one the turn is parked under its reason, without its lock
//          and its slot, and kernel/queue/wake-parked.ts is the way back
//   fail   the turn ends
//
// None of it costs anything of the turn's retry budget (G16, G33).
import { hash } from 'node:crypto';
import { orderKeys } from '../../rules/provider-keys.ts';
import { refOfModel, type NamedModel, providerOf } from '../../../core/models.ts';
import type { TurnContext } from '../context.ts';
import { PASS, type ComingCall, type Hold, type Wait, type Setback, type GateCheck } from '../gate-check.ts';
import {
  RATE_CODES,
  WAIT_IN_SLOT_MS_MAX,
  expiredText,
  givenUpText,
  isOutage,
  TurnFailed,
  TurnStopped,
  type TurnWait,
} from '../turn-stop.ts';
import type { Config } from '../../../config.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { AfterCommit } from '../../queue/after-commit.ts';
import { given } from '../../../core/json.ts';
import { lastExpiry } from '../../../core/queue-mode.ts';
import type { NewEvent } from '../../events/events.ts';
import type { Reason } from '../../rules/why.ts';
import { modelBlocked, modelEnded, reportCalls } from '../turn-log.ts';
import { NO_ROWS } from '../position.ts';

/** The right to make one call. After its first end, further ends do nothing. */
export type Pass = Required<Hold>;

/**
 * Resolves with the right to make the call. Throws `TurnStopped` (parked) while it cannot be made,
 * `TurnFailed` when it never can.
 */
export async function enterGate(context: TurnContext, call: ComingCall): Promise<Pass> {
  const entry = await askGate(context, call);
  if ('reason' in entry) throw parkedStop(context, call.turn, entry);
  return entry;
}

/** Enters the gate as `enterGate` does, but returns a long wait instead of throwing. */
export async function askGate(context: TurnContext, call: ComingCall): Promise<Pass | Wait> {
  const { clock, random } = context;
  for (let stayedMs = 0, rateWaitMs = 0; ;) {
    const { pass, wait, waitedMs } = await askChecks(context, call, stayedMs);
    rateWaitMs += waitedMs;
    if (wait === null) {
      noteRateWait(context, call, rateWaitMs);
      return pass;
    }
    pass.left();
    if (wait.isParked === true || wait.forMs === null || wait.forMs > WAIT_IN_SLOT_MS_MAX) return wait;
    const beganAtMs = clock.monotonicMs();
    await call.turn.held.pause(toDelay(wait, random()));
    const pausedMs = clock.monotonicMs() - beganAtMs;
    stayedMs += pausedMs;
    if (RATE_CODES.has(wait.reason.code)) rateWaitMs += pausedMs;
  }
}

/**
 * Asks the checks in order, up to the first that says `wait`. `waitedMs`: how long they have waited
 * themselves. Throws what a check fails with.
 */
async function askChecks(
  { models: { checks } }: TurnContext,
  call: ComingCall,
  stayedMs: number,
): Promise<{ pass: Pass; wait: Wait | null; waitedMs: number }> {
  const holds: Hold[] = [];
  const pass = toPass(holds);
  let waitedMs = 0;
  try {
    for (const check of checks) {
      const answer = check.applies?.(call) === false ? PASS : await check.ask(call, stayedMs);
      if (answer.kind === 'fail') throw answer.failure;
      if (answer.kind === 'wait') return { pass, wait: answer, waitedMs };
      if (answer.hold !== undefined) holds.push(answer.hold);
      waitedMs += answer.waitedMs ?? 0;
    }
    return { pass, wait: null, waitedMs };
  } catch (error) {
    pass.left();
    throw error;
  }
}

/** True when a call of the model would be let through soon, by any key of its provider. */
export function isOpen({ models }: TurnContext, { key: _key, ...model }: NamedModel): boolean {
  const { client, checks } = models;
  const keys = client.keysOf(model);
  const ways: NamedModel[] = keys.length < 2 ? [model] : keys.map(({ name }) => ({ ...model, key: name }));
  return ways.some((way) => checks.every((check) => check.isOpen?.(way) ?? true));
}

/**
 * The model as a session asks it: by the first key of its order that is let through, or by the one
 * that is held back least.
 */
export function withKey({ models }: TurnContext, sessionId: string, model: NamedModel): NamedModel {
  const { client, states } = models;
  const keys = client.keysOf(model);
  if (keys.length < 2) return model;
  const ways = orderKeys(sessionId, keys, (text) => hash('sha256', text, 'hex')).map(({ name }) => {
    const way = { ...model, key: name };
    return { way, heldMs: states.known.heldMs(way) };
  });
  const leastMs = Math.min(...ways.map(({ heldMs }) => heldMs));
  return ways.find(({ heldMs }) => heldMs === leastMs)?.way ?? model;
}

/** What all checks hold for a call, as one. */
function toPass(holds: readonly Hold[]): Pass {
  let isOver = false;
  const once = (): readonly Hold[] => {
    const held = isOver ? [] : holds;
    isOver = true;
    return held;
  };
  return {
    begun: () => holds.forEach((hold) => hold.begun?.()),
    remaining: (left) => holds.forEach((hold) => hold.remaining?.(left)),
    answered: () => once().forEach((hold) => hold.answered?.()),
    async failed(fault) {
      const setbacks = await Promise.all(once().map(async (hold) => await hold.failed?.(fault)));
      return setbacks.find((one) => one) ?? null;
    },
    left: () => once().forEach((hold) => hold.left?.()),
    used: (row) => holds.forEach((hold) => hold.used?.(row)),
  };
}

/**
 * Notes how long the next call has waited for a rate, in this worker and while its turn was parked
 * for it: the span `rate.wait` and a metric.
 */
function noteRateWait(context: TurnContext, { turn, way, model }: ComingCall, waitedMs: number): void {
  if (way !== 'live') return;
  const { at, attempt } = turn.journal;
  // A call that is made again has not been parked again.
  const parkedMs = at.park !== null && RATE_CODES.has(at.park.code) && attempt.rateWaitMs === 0 ? at.park.waitedMs : 0;
  const rateWaitMs = Math.round(parkedMs + waitedMs);
  turn.journal.note({ rateWaitMs });
  if (rateWaitMs > 0) context.models.onRateWait({ model: refOfModel(model), waitedMs: rateWaitMs });
}

// How often a turn asks again after a call that has failed, and when it keeps its slot meanwhile.

/**
 * The number of short interruptions of a provider during which a turn keeps its slot; then it is
 * parked.
 */
const RETRIES_IN_SLOT_MAX = 2;

/** How often a turn may retry a call of this model. */
export function retriesMaxOf({ models: { providers } }: Config, model: NamedModel): number {
  const provider = providerOf(model);
  const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  return own?.maxRetries ?? providers.anthropic.maxRetries;
}

/**
 * True when a turn whose model has not answered may ask again from its slot (G33). `blocksInARow`:
 * its calls in a row that its provider has held back, with this one.
 */
export function mayStay(
  context: TurnContext,
  { journal }: OpenedTurn,
  { setback: { kind, wait }, model, blocksInARow }: { setback: Setback; model: NamedModel; blocksInARow: number },
): boolean {
  const { config } = context;
  const { park, progress } = journal.at;
  // Another key may be let through. Each of them has been asked when more calls in a row were held
  // back than there are keys.
  if (kind === 'key') return blocksInARow <= context.models.client.keysOf(model).length && isOpen(context, model);
  if (park !== null || kind === 'away') return false;
  if (kind === 'blocked') return (wait.forMs ?? 0) <= WAIT_IN_SLOT_MS_MAX && blocksInARow <= RETRIES_IN_SLOT_MAX;
  return progress.retries < Math.min(RETRIES_IN_SLOT_MAX, retriesMaxOf(config, model));
}

// How a turn waits that is not to wait in its slot (G33): it is parked, and holds neither a lock
// nor a slot. It gives up when it has waited for a model for `models.outage.giveUpAfter`, or when
// all of its messages have expired.

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

/**
 * The stop with which a turn is parked, to be thrown. Throws `TurnFailed` when it has waited for as
 * long as it may.
 */
export function parkedStop(context: TurnContext, turn: OpenedTurn, wait: Wait): TurnStopped {
  const leftMs = patienceMs(context, turn, wait.reason);
  if (leftMs <= 0) throw givenUp(context, turn, wait.reason);
  const delayMs = Math.min(toDelay(wait, context.random()), leftMs);
  return waitStop({ hasCalled: false, notBeforeMs: 0, ...wait, delayMs: Number.isFinite(delayMs) ? delayMs : null });
}

/** Parks the turn for a wait that has its own bound. */
export function waitStop(wait: TurnWait): TurnStopped {
  return new TurnStopped({ kind: 'parked', message: wait.reason.text, wait });
}

type Cause = Pick<Reason, 'code' | 'text'>;

/** How much longer a turn may wait for such a reason, in milliseconds. */
function patienceMs({ config, clock }: Patience, { journal }: OpenedTurn, { code }: Cause): number {
  const { inputs, progress, park } = journal.at;
  const expiresAt = lastExpiry(inputs);
  // A turn that has begun to answer does not fail because of its message's expiry alone while it
  // waits for its model.
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
 * Parks a turn, with the failed call that is the reason for it, if there is one. Resolves with the
 * rings that this needs. Throws `TurnStopped` when another worker holds the session.
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
  await context.store.deltas.take({ sessionId: session.id, epoch: turn.held.epoch, turnId: turn.id });
  const modelCalls = failed === null ? [] : [failed];
  const write = { ...NO_ROWS, modelCalls, events, totals: given({ retries }) };
  // The wait counts from the model's last answer, whatever the current reason is: alternating
  // reasons must not extend it. After a wait that has another bound, the next one starts a new
  // count.
  const isFirst = park === null || (!isOutage(park.code) && park.code !== reason.code);
  const parks = isFirst ? 1 : park.parks + (hasCalled ? 1 : 0);
  const { heldSeq } = session;
  const { after } = await journal.store(write, (rows) => context.store.parkTurn({ ...rows, ...wait, heldSeq, parks }));
  reportCalls(context, turn, modelCalls);
  context.store.transcripts.keep(session.id, turn.transcript);
  wait.onParked?.();
  return after;
}
