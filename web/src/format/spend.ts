// Sums of usage: by step of time, by group, and the saving of the provider's cache.
import type { api } from '../api.ts';
import { serverNowMs } from './time.ts';

type Usage = Awaited<ReturnType<typeof api.getUsage>>['items'][number];
type Price = Awaited<ReturnType<typeof api.getPrices>>['rows'][number];

/** Of one step and one group. */
export type UsedStep = Pick<Usage, 'startsAt' | 'group' | 'costMicros' | (typeof SUMMED)[number]>;

/** In US dollars per million tokens, for models whose name fits the pattern. */
type PriceOfModel = Pick<
  Price,
  'model' | 'to' | 'inputPerMTok' | 'cacheReadPerMTok' | 'cacheWrite5mPerMTok' | 'cacheWrite1hPerMTok'
>;

const SUMMED = [
  'turns',
  'calls',
  'failures',
  'unpricedCalls',
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWrite1hTokens',
] as const;

export type Spend = Record<(typeof SUMMED)[number] | 'costMicros', number>;

/** The sum of steps; calls whose cost is not known are counted, and not in the cost. */
export function sumOf(steps: readonly UsedStep[]): Spend {
  const names = [...SUMMED, 'costMicros'] as const;
  return Object.fromEntries(
    names.map((name) => [name, steps.reduce((sum, step) => sum + (step[name] ?? 0), 0)]),
  ) as Spend;
}

/** The sums by a part of the steps, in the order in which its values come first. */
export function sumsBy(steps: readonly UsedStep[], part: 'startsAt' | 'group'): [name: string, sum: Spend][] {
  const groups = Map.groupBy(steps, (step) => step[part] ?? '');
  return [...groups].map(([name, own]) => [name, sumOf(own)]);
}

/** When each of the last steps begins, oldest first, also those in which nothing happened. */
export function stepsOf(stepMs: number, count: number, used: readonly Pick<UsedStep, 'startsAt'>[]): string[] {
  const lastMs = Math.floor(serverNowMs() / stepMs) * stepMs;
  const shown = Array.from({ length: count }, (_, n) => new Date(lastMs - (count - 1 - n) * stepMs).toISOString());
  // Steps of the service are written as it writes times; those with usage are shown even when the
  // clocks differ.
  return [...new Set([...shown, ...used.map(({ startsAt }) => startsAt)])].toSorted();
}

/** True for a model whose name fits a pattern with `*`. */
function fits(model: string, pattern: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  if (others.length === 0) return model === pattern;
  if (!model.startsWith(first)) return false;
  let from = first.length;
  for (const [index, part] of others.entries()) {
    const isLast = index === others.length - 1;
    const at = isLast ? model.length - part.length : model.indexOf(part, from);
    if (at < from || !model.startsWith(part, at)) return false;
    from = at + part.length;
  }
  return true;
}

/**
 * What the cache of the provider saved in US dollars, by the standard prices of now: what was read
 * from it, at the difference to the full price, less what writing to it cost more. Null: a model
 * that used it has no price.
 */
export function cacheSavingUsd(
  byModel: readonly [model: string, sum: Spend][],
  prices: readonly PriceOfModel[],
): number | null {
  let saved = 0;
  for (const [model, { cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens }] of byModel) {
    if (cacheReadTokens + cacheWriteTokens === 0) continue;
    const price = prices.find((row) => row.to === null && fits(model, row.model));
    if (price === undefined) return null;
    const { inputPerMTok, cacheReadPerMTok, cacheWrite5mPerMTok, cacheWrite1hPerMTok } = price;
    saved += cacheReadTokens * (inputPerMTok - cacheReadPerMTok);
    saved -= (cacheWriteTokens - cacheWrite1hTokens) * (cacheWrite5mPerMTok - inputPerMTok);
    saved -= cacheWrite1hTokens * (cacheWrite1hPerMTok - inputPerMTok);
  }
  return saved / 1_000_000;
}

/**
 * The expected spending of a budget at the end of its window at the present rate, in US dollars;
 * null: its window has no end or has just begun.
 */
export function forecastUsd(
  { spentUsd, startsAt, endsAt }: { spentUsd: number; startsAt: string | null; endsAt: string | null },
  nowMs: number,
): number | null {
  if (startsAt === null || endsAt === null) return null;
  const [beginMs, endMs] = [Date.parse(startsAt), Date.parse(endsAt)];
  const passedMs = Math.min(nowMs, endMs) - beginMs;
  return passedMs <= 0 ? null : (spentUsd * (endMs - beginMs)) / passedMs;
}

/**
 * Rows as comma-separated values (RFC 4180). A text that a spreadsheet would take for a formula
 * begins with an apostrophe.
 */
export function csvOf(rows: readonly (readonly (string | number | null)[])[]): string {
  const field = (value: string | number | null): string => {
    if (typeof value !== 'string') return value === null ? '' : String(value);
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => `${row.map(field).join(',')}\r\n`).join('');
}
