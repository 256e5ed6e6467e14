// Before a model call is charged, its likely cost is reserved in every budget that covers it. Without room the turn is parked until there is
// some, or fails. Without a budget nothing is sent, but for one query of the budgets when an item of a new batch comes: the batch may have a cap.
import { BUDGET_REACHED, budgetName, type BudgetFacts } from '../../core/budget/budget.ts';
import { costOfTokens, isPriced, likelyOutput, likelyTokens, mostTokens } from '../../core/budget/likely-cost.ts';
import { lastExpiry } from '../../core/message-expiry.ts';
import { refOfModel } from '../../core/model-ref.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { dollarsOf, type PriceTier, type ReportedTokens } from '../../core/prices/call-cost.ts';
import type { Budget } from '../../store/budgets/budgets.ts';
import { estimateNextRequest } from '../request-tokens.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { TurnFailed, TurnStopped } from '../turn-end.ts';
import { WAIT_IN_SLOT_MS_MAX } from './await-model.ts';

/** A call that is about to be made. */
interface ComingCall {
  callNo: number;
  tier?: PriceTier;
  /** Absent: the next request of the turn. */
  request?: ModelRequest;
  /** The retries of the turn with this call, which are charged also when the turn is parked first; absent: it is none. */
  retries?: number;
}

/** Turns that wait for a window return within this many milliseconds of its beginning, spread over that time. */
const SPREAD_MS = 5_000;

/** How often a turn asks again while other calls have reserved the rest: in its slot, and then parked. In milliseconds. */
const BUSY_MS = 200;
const PARK_MS_MIN = 5_000;
const PARK_MS_MAX = 300_000;

/** Reserves the cost of a call. Throws `TurnStopped` (parked) or `TurnFailed` when a budget has no room for it; then nothing is reserved. */
export async function reserveCost(
  context: TurnContext,
  turn: OpenedTurn,
  { callNo, tier = 'standard', request, retries }: ComingCall,
): Promise<void> {
  const facts = factsOf(turn);
  await context.budgets.know(facts);
  const covering = context.budgets.covering(facts);
  if (covering.length === 0) return;
  const { epoch } = turn.held;
  const asks = covering.map((budget) => ({
    budgetId: budget.id,
    micros: askOf(context, turn, budget, { callNo, tier, ...(request && { request }) }),
  }));
  const ask = () =>
    context.store.reserveCost({
      sessionId: turn.session.id,
      turnId: turn.id,
      callNo,
      epoch,
      asks,
      isLive: tier === 'standard',
    });
  let verdict = await ask();
  for (let waitedMs = 0; verdict.kind === 'busy' && waitedMs < WAIT_IN_SLOT_MS_MAX;) {
    const pauseMs = BUSY_MS * (1 + context.random());
    await turn.held.pause(pauseMs);
    waitedMs += pauseMs;
    verdict = await ask();
  }
  if (verdict.kind === 'granted') return;
  const { budgetId } = verdict;
  const budget = covering.find(({ id }) => id === budgetId) ?? covering[0]!;
  if (verdict.kind === 'busy')
    throw parked(context, turn, { budget, text: noRoom(budget), waitMs: busyMs(context, turn), retries });
  const askedMicros = asks.find((asked) => asked.budgetId === budget.id)?.micros ?? 0;
  const text = verdict.kind === 'oversized' ? tooLarge(budget, askedMicros) : noRoom(budget);
  if (budget.action === 'fail') throw new TurnFailed('budget_exceeded', text);
  // A change of the budget wakes it. It also asks by itself, because one that was changed just before the park wakes nothing.
  if (verdict.kind === 'oversized') throw parked(context, turn, { budget, text, waitMs: PARK_MS_MAX, retries });
  const waitMs = verdict.waitMs === null ? null : verdict.waitMs + context.random() * SPREAD_MS;
  throw parked(context, turn, { budget, text, waitMs, retries });
}

/** The facts by which budgets match a turn: they follow from the message that began it, and what that one was started by. */
export function factsOf({ agent, session, journal }: OpenedTurn): BudgetFacts {
  const body = (journal.at.inputs[0]?.body ?? {}) as { chargedTo?: object };
  const { sentBy, batchId } = (body.chargedTo ?? body) as { sentBy?: unknown; batchId?: unknown };
  return {
    agentId: agent.id,
    sessionKey: session.key,
    keyName: typeof sentBy === 'string' ? sentBy : null,
    batchId: typeof batchId === 'string' ? batchId : null,
  };
}

function askOf(
  context: TurnContext,
  turn: OpenedTurn,
  budget: Budget,
  call: Required<Pick<ComingCall, 'tier'>> & ComingCall,
) {
  const base = turn.journal.attempt.request;
  const request = call.request ?? { ...base, messages: [...turn.journal.attempt.requests.messages] };
  const priced = { model: refOfModel(request), day: context.clock.now().toISOString().slice(0, 10) };
  const { table } = context.prices;
  if (budget.strict && !isPriced(table, priced)) {
    const message = `The model ${priced.model} has no price, and the budget "${budgetName(budget)}" is strict. Add a row to models.prices.`;
    throw new TurnFailed('budget_exceeded', message);
  }
  const tokens = budget.strict ? mostTokens(request, call.tier) : likely(context, turn, call);
  return costOfTokens(table, { ...priced, tier: call.tier }, tokens) ?? 0;
}

function likely(context: TurnContext, turn: OpenedTurn, { request }: ComingCall): ReportedTokens {
  const { at, attempt } = turn.journal;
  const promptTokens = estimateNextRequest(turn);
  // The provider's cache has what this turn has sent already.
  const isWarm = request === undefined && at.progress.steps > 0 && at.tokens.reported !== null;
  const cachedTokens = isWarm ? Math.min(promptTokens, at.tokens.reported?.tokens ?? 0) : 0;
  const { maxTokens } = request ?? attempt.request;
  const outputTokens = likelyOutput(context.recentOutputs.of(turn.agent.id), maxTokens);
  return likelyTokens({ cachedTokens, newTokens: promptTokens - cachedTokens }, outputTokens);
}

function noRoom(budget: Budget): string {
  return `The budget "${budgetName(budget)}" of $${dollarsOf(budget.limitMicros)} has no room for the next call.`;
}

function tooLarge(budget: Budget, askedMicros: number): string {
  return `The next call is likely to cost $${dollarsOf(askedMicros)}, more than the whole budget "${budgetName(budget)}" of $${dollarsOf(budget.limitMicros)}. No window has room for it until its limit is raised.`;
}

/** Each wait for calls that have reserved the rest is half as long as all earlier ones together. */
function busyMs({ random }: TurnContext, { journal }: OpenedTurn): number {
  const { park } = journal.at;
  const waitedMs = park?.code === BUDGET_REACHED ? park.waitedMs : 0;
  return Math.min(PARK_MS_MAX, Math.max(PARK_MS_MIN, waitedMs / 2)) * (1 + random() / 10);
}

/** The stop by which a turn waits for a budget; null: until the budget changes. Its messages may expire meanwhile. */
function parked(
  context: TurnContext,
  turn: OpenedTurn,
  {
    budget,
    text,
    waitMs,
    retries,
  }: { budget: Budget; text: string; waitMs: number | null; retries: number | undefined },
): TurnStopped | TurnFailed {
  const expiresAt = lastExpiry(turn.journal.at.inputs);
  const untilExpiryMs = expiresAt === null ? null : expiresAt - context.clock.now().getTime();
  if (untilExpiryMs !== null && untilExpiryMs <= 0) {
    return new TurnFailed('expired', `The turn waited until its messages expired (expiresAt). Last: ${text}`);
  }
  const waits = [waitMs, untilExpiryMs].filter((ms) => ms !== null);
  const delayMs = waits.length === 0 ? null : Math.max(0, Math.min(...waits));
  const reason = { code: BUDGET_REACHED, text, by: budget.id };
  return new TurnStopped({
    kind: 'parked',
    message: text,
    park: { reason, hasCalled: false, delayMs, notBeforeMs: 0, ...(retries === undefined ? {} : { retries }) },
  });
}
