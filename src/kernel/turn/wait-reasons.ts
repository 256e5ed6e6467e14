// What the gate knows of the waits of an open turn by their codes, and how a turn ends that has waited too long. The texts of the waits are in
// src/kernel/rules/why.ts.

import type { LedgerRow } from '../sessions/claim-session.ts';

/** A wait longer than this is not spent in a worker: the turn is parked and its slot is free, in milliseconds. */
export const WAIT_IN_SLOT_MS_MAX = 5_000;

/** The code of a turn whose client did not send its results in time. */
export const CALLER_TIMEOUT = 'caller_timeout';

/** True for a row of a call that waits for something outside: it has neither begun nor got a result. */
export function isHeld({ heldFor, runs, result, status }: LedgerRow): boolean {
  return heldFor !== null && runs === 0 && result === null && status === 'intent';
}

/** The waits for a rate. */
export const RATE_CODES: ReadonlySet<string> = new Set(['rate_limited', 'model_blocked']);

/** Why a turn waits for its model or for the provider of it. */
export const MODEL_CODES: readonly string[] = ['model_blocked', 'rate_limited', 'model_away', 'retry_wait'];

/** True for a wait that counts towards `models.outage.giveUpAfter`. All others have a bound of their own. */
export function isOutage(code: string): boolean {
  return MODEL_CODES.includes(code);
}

/** The text of a turn whose messages have expired while it waited. */
export function expiredText(expiresAtMs: number): string {
  return `The turn waited until its messages expired at ${new Date(expiresAtMs).toISOString()} (expiresAt).`;
}

/** The text of a turn that has waited for as long as it may. */
export function givenUpText(giveUpAfterMs: number): string {
  const hours = Math.round(giveUpAfterMs / 36_000) / 100;
  return `The turn ended after waiting for ${hours} h (models.outage.giveUpAfter).`;
}
