// Prices past calls again by the table of the configuration: after a price in it was wrong, or was
// added late. An explicit command, never done by itself. It may be broken off and started again:
// what has its new cost already is left as it is.
import { priceCall, type PriceBook } from '../../core/prices.ts';
import { newId } from '../../ids.ts';
import type { Database } from '../../database/database.ts';
import {
  beginRepricing,
  endRepricing,
  readPastCalls,
  repriceCalls,
  storePriceVersion,
  type CallPlace,
  type NewCost,
  type PastCall,
} from './store/reprice.ts';
import { workOff } from '../../work-off.ts';

export interface RepricingRequest {
  /** Calls that started then or later, and before `to`. */
  from: Date;
  to: Date;
  /** For people who ask later why a cost has changed. */
  reason: string | null;
  /** True: nothing is changed. */
  isDryRun: boolean;
}

export interface RepricingReport {
  /** Calls that were read, and those whose cost has changed, or would change. */
  calls: number;
  changed: number;
  /** The known costs of the changed calls before and after, in micro-dollars. */
  beforeMicros: number;
  afterMicros: number;
  priceVersion: string;
}

const BEFORE_ALL: CallPlace = { turnId: '00000000-0000-0000-0000-000000000000', callNo: 0 };

/** Prices the calls of a span of time again. */
export async function repricePastCalls(
  { database, prices }: { database: Database; prices: PriceBook },
  { from, to, reason, isDryRun }: RepricingRequest,
): Promise<RepricingReport> {
  const id = newId<string>();
  const report = { calls: 0, changed: 0, beforeMicros: 0, afterMicros: 0, priceVersion: prices.version };
  if (!isDryRun) {
    await storePriceVersion(database, prices);
    await beginRepricing(database, { id, from, to, priceVersion: prices.version, reason });
  }
  let after = BEFORE_ALL;
  await workOff(async () => {
    const calls = await readPastCalls(database, { from, to, after });
    const costs = calls.map((call) => computeNewCost(prices, call)).filter((cost) => cost.before !== cost.costMicros);
    report.calls += calls.length;
    report.changed += isDryRun || costs.length === 0 ? costs.length : await repriceCalls(database, { id, costs });
    for (const { before, costMicros } of costs) {
      report.beforeMicros += before ?? 0;
      report.afterMicros += costMicros ?? 0;
    }
    after = calls.at(-1) ?? after;
    return calls.length > 0;
  });
  if (!isDryRun) await endRepricing(database, id);
  return report;
}

function computeNewCost(prices: PriceBook, call: PastCall): NewCost {
  const { turnId, callNo, costMicros: before } = call;
  return { turnId, callNo, before, ...priceCall(prices, call, call) };
}
