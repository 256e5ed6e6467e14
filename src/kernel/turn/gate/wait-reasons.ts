// The waits of an open turn: which of them are short, which are for a rate or have a bound of their own, and how a turn ends that has waited too
// long. Their texts are in src/kernel/rules/why.ts.
import { BUDGET_REACHED, budgetName, type BudgetSettings } from '../../../features/budgets/rules/budget.ts';
import { toDollars } from '../../../core/prices/call-cost.ts';
import type { Reason } from '../../rules/why.ts';

/** A wait longer than this is not spent in a worker: the turn is parked and its slot is free, in milliseconds. */
export const WAIT_IN_SLOT_MS_MAX = 5_000;

/** The codes of turns that wait for a batch of the provider, and for the results of a client's tools. */
const PROVIDER_BATCH = 'provider_batch';
export const CALLER = 'caller';

/** The waits for a rate. */
export const RATE_CODES: ReadonlySet<string> = new Set(['rate_limited', 'model_blocked']);

/** Waits that end by themselves: with the deadline of a batch or of a client, or the window of a budget. All others are for a model. */
const BOUNDED_CODES: ReadonlySet<string> = new Set([PROVIDER_BATCH, BUDGET_REACHED, CALLER]);

/** True for a wait that counts towards `models.outage.giveUpAfter`. */
export function isOutage(code: string): boolean {
  return !BOUNDED_CODES.has(code);
}

/** `askedMicros`: what the call is likely to cost, where it's more than the whole budget. */
export function budgetReached(
  budget: Pick<BudgetSettings, 'scope' | 'per' | 'limitMicros'> & { id: string },
  askedMicros: number | null,
): Reason {
  const [name, limit] = [`"${budgetName(budget)}"`, `$${toDollars(budget.limitMicros)}`];
  const text =
    askedMicros === null
      ? `The budget ${name} of ${limit} has no room for the next call.`
      : `The next call is likely to cost $${toDollars(askedMicros)}, more than the whole budget ${name} of ${limit}. No window has room for it until its limit is raised.`;
  return { code: BUDGET_REACHED, text, by: budget.id };
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
