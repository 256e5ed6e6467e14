// The check of budgets: the likely cost of a call is reserved in every budget that covers it.
// Without a budget nothing is sent, but for one query of the budgets when an item of a new batch
// comes: the batch may have a cap.
import { BUDGET_REACHED, budgetName, type BudgetFacts } from './rules/budget.ts';
import { costOfTokens, isPriced, likelyTokens, mostTokens } from './rules/likely-cost.ts';
import { isPaidPurpose, type ModelRequest } from '../../core/model-request.ts';
import { refOfModel } from '../../core/models.ts';
import { toDollars, type PriceTier, type ReportedTokens } from '../../core/prices.ts';
import type { BudgetBook } from './store/budget-book.ts';
import type { Budget } from './store/budgets.ts';
import { createReserveCost, type CostRequest, type ReservedCost } from './store/reserve-cost.ts';
import type { RowSubmitter } from '../../database/statement.ts';
import type { Reason } from '../../kernel/rules/why.ts';
import { type OpenedTurn, estimateNextRequest } from '../../kernel/turn/opened-turn.ts';
import { TurnFailed, WAIT_IN_SLOT_MS_MAX } from '../../kernel/turn/turn-stop.ts';
import type { TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import { budgetBookOf } from './rounds.ts';
import { PASS, type CheckAnswer, type ComingCall } from '../../kernel/turn/gate-check.ts';

interface BudgetParts extends TurnParts {
  book: BudgetBook;
  reserve: RowSubmitter<CostRequest, ReservedCost>;
}

/**
 * Turns that wait for a window return within this many milliseconds of its beginning, spread over
 * that time.
 */
const SPREAD_MS = 5_000;

/**
 * How often a turn asks again while other calls have reserved the rest: in its slot, and then
 * parked. In milliseconds.
 */
const BUSY_MS = 200;
const PARK_MS_MIN = 5_000;
const PARK_MS_MAX = 300_000;

export function budgetsOfTurns(worker: TurnParts): TurnFeature {
  const book = budgetBookOf(worker);
  const parts = { ...worker, book, reserve: createReserveCost(worker.database) };
  return {
    check: {
      applies: ({ turn }) => book.isInUse || toBudgetFacts(turn).batchId !== null,
      ask: (call, stayedMs) => reserveCost(parts, call, stayedMs),
      stored: (turnId) => book.settle(turnId),
    },
  };
}

async function reserveCost(parts: BudgetParts, call: ComingCall, stayedMs: number): Promise<CheckAnswer> {
  const { turn, callNo, way } = call;
  const facts = toBudgetFacts(turn);
  await parts.book.know(facts);
  const covering = parts.book.covering(facts);
  if (covering.length === 0) return PASS;
  const request = call.request();
  const asks: { budgetId: string; micros: number }[] = [];
  for (const budget of covering) {
    const micros = costFor(parts, { call, request, isStrict: budget.strict });
    if (micros === null) return { kind: 'fail', failure: unpriced(call, budget) };
    asks.push({ budgetId: budget.id, micros });
  }
  const isLive = way !== 'batch';
  const [sessionId, { epoch }] = [turn.session.id, turn.held];
  const reserved = await parts.reserve({ sessionId, turnId: turn.id, callNo, epoch, asks, isLive });
  if (reserved.kind === 'reserved') return PASS;
  const { kind, budgetId, waitMs } = reserved;
  const budget = covering.find(({ id }) => id === budgetId) ?? covering[0]!;
  const askedMicros = asks.find((asked) => asked.budgetId === budget.id)?.micros ?? 0;
  const reason = budgetReached(budget, kind === 'oversized' ? askedMicros : null);
  if (kind === 'busy') {
    if (stayedMs < WAIT_IN_SLOT_MS_MAX) return { kind: 'wait', reason, forMs: BUSY_MS, spreadMs: BUSY_MS };
    const forMs = busyMs(turn);
    return { kind: 'wait', reason, forMs, spreadMs: forMs / 10, isParked: true };
  }
  if (budget.action === 'fail') return { kind: 'fail', failure: new TurnFailed('budget_exceeded', reason.text) };
  // A change of the budget wakes it. It also asks by itself, because one that was changed just
  // before the park wakes nothing.
  if (kind === 'oversized') return { kind: 'wait', reason, forMs: PARK_MS_MAX, isParked: true };
  return { kind: 'wait', reason, forMs: waitMs, spreadMs: SPREAD_MS, isParked: true };
}

/**
 * The facts by which budgets match a turn: they follow from the message that began it, and what
 * that one was started by.
 */
function toBudgetFacts({ agent, session, journal }: OpenedTurn): BudgetFacts {
  const body = (journal.at.inputs[0]?.body ?? {}) as { chargedTo?: object };
  const { sentBy, batchId } = (body.chargedTo ?? body) as { sentBy?: unknown; batchId?: unknown };
  return {
    agentId: agent.id,
    sessionKey: session.key,
    keyName: typeof sentBy === 'string' ? sentBy : null,
    batchId: typeof batchId === 'string' ? batchId : null,
  };
}

/**
 * The likely cost of a call, or the highest one for a strict budget, in micro-dollars; null: a
 * strict budget needs its price, and there is none.
 */
function costFor(
  { prices, clock, recentOutputs }: BudgetParts,
  { call, request, isStrict }: { call: ComingCall; request: ModelRequest; isStrict: boolean },
): number | null {
  const priced = { model: refOfModel(request), day: clock.now().toISOString().slice(0, 10) };
  const isOwn = isPaidPurpose(call.purpose);
  if (call.unitMicros !== undefined && !isPriced(prices.table, priced)) return call.unitMicros ?? (isStrict ? null : 0);
  if (isStrict && !isPriced(prices.table, priced)) return null;
  const tier: PriceTier = call.way === 'batch' ? 'batch' : 'standard';
  const outputTokens = recentOutputs.likely(call.turn.agent.id, request.maxTokens);
  const tokens = isStrict || isOwn ? mostTokens(request, tier) : likely(call, outputTokens);
  return costOfTokens(prices.table, { ...priced, tier }, tokens) ?? 0;
}

function likely({ turn, purpose }: ComingCall, outputTokens: number): ReportedTokens {
  const { at } = turn.journal;
  const promptTokens = estimateNextRequest(turn);
  // The provider's cache has what this turn has sent already.
  const isWarm = purpose === undefined && at.progress.steps > 0;
  const cachedTokens = isWarm ? Math.min(promptTokens, at.tokens.reported?.tokens ?? 0) : 0;
  return likelyTokens({ cachedTokens, newTokens: promptTokens - cachedTokens }, outputTokens);
}

/** `askedMicros`: what the call is likely to cost, where it's more than the whole budget. */
function budgetReached(budget: Budget, askedMicros: number | null): Reason {
  const [name, limit] = [`"${budgetName(budget)}"`, `$${toDollars(budget.limitMicros)}`];
  const text =
    askedMicros === null
      ? `The budget ${name} of ${limit} has no room for the next call.`
      : `The next call is likely to cost $${toDollars(askedMicros)}, more than the whole budget ${name} of ${limit}. No window has room for it until its limit is raised.`;
  return { code: BUDGET_REACHED, text, by: budget.id };
}

function unpriced({ model }: ComingCall, budget: Budget): TurnFailed {
  const message = `The model ${refOfModel(model)} has no price, and the budget "${budgetName(budget)}" is strict. Add a row to models.prices.`;
  return new TurnFailed('budget_exceeded', message);
}

/** Each wait for calls that have reserved the rest is half as long as all earlier ones together. */
function busyMs({ journal }: OpenedTurn): number {
  const { park } = journal.at;
  const waitedMs = park?.code === BUDGET_REACHED ? park.waitedMs : 0;
  return Math.min(PARK_MS_MAX, Math.max(PARK_MS_MIN, waitedMs / 2));
}
