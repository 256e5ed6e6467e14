// The gate before every model call: a list of checks (gate-check.ts), asked in order.
//
//   pass   the next check is asked; after the last one the call is made
//   wait   what the others hold is left. A short wait happens here, and the list is asked again from its start; for a longer one the turn is parked
//          under its reason, without its lock and its slot, and kernel/queue/wake-parked.ts is the way back
//   fail   the turn ends
//
// None of it costs anything of the turn's retry budget (G16, G33).
import { hash } from 'node:crypto';
import { orderKeys } from '../../../core/provider-keys.ts';
import { refOfModel, type NamedModel } from '../../../core/model-ref.ts';
import type { TurnContext } from '../context.ts';
import { PASS, type ComingCall, type Hold, type Wait } from '../gate-check.ts';
import { toDelay, parkedStop } from './store-park.ts';
import { RATE_CODES, WAIT_IN_SLOT_MS_MAX } from '../wait-reasons.ts';

/** The right to make one call. After its first end, further ends do nothing. */
export type Pass = Required<Hold>;

/** Resolves with the right to make the call. Throws `TurnStopped` (parked) while it cannot be made, `TurnFailed` when it never can. */
export async function enterGate(context: TurnContext, call: ComingCall): Promise<Pass> {
  const entry = await askGate(context, call);
  if ('reason' in entry) throw parkedStop(context, call.turn, entry);
  return entry;
}

/** The same, but for a long wait, which it answers. */
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

/** Asks the checks in order, up to the first that says `wait`. `waitedMs`: how long they have waited themselves. Throws what a check fails with. */
async function askChecks(
  { checks }: TurnContext,
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
export function isOpen({ checks, model: client }: TurnContext, { key: _key, ...model }: NamedModel): boolean {
  const keys = client.keysOf(model);
  const ways: NamedModel[] = keys.length < 2 ? [model] : keys.map(({ name }) => ({ ...model, key: name }));
  return ways.some((way) => checks.every((check) => check.isOpen?.(way) ?? true));
}

/** The model as a session asks it: by the first key of its order that is let through, or by the one that is held back least. */
export function withKey({ models, model: client }: TurnContext, sessionId: string, model: NamedModel): NamedModel {
  const keys = client.keysOf(model);
  if (keys.length < 2) return model;
  const ways = orderKeys(sessionId, keys, (text) => hash('sha256', text, 'hex')).map(({ name }) => {
    const way = { ...model, key: name };
    return { way, heldMs: models.known.heldMs(way) };
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

/** Notes how long the next call has waited for a rate, in this worker and while its turn was parked for it: the span `rate.wait` and a metric. */
function noteRateWait(context: TurnContext, { turn, way, model }: ComingCall, waitedMs: number): void {
  if (way !== 'live') return;
  const { at, attempt } = turn.journal;
  // A call that is made again has not been parked again.
  const parkedMs = at.park !== null && RATE_CODES.has(at.park.code) && attempt.rateWaitMs === 0 ? at.park.waitedMs : 0;
  const rateWaitMs = Math.round(parkedMs + waitedMs);
  turn.journal.note({ rateWaitMs });
  if (rateWaitMs > 0) context.onRateWait({ model: refOfModel(model), waitedMs: rateWaitMs });
}
