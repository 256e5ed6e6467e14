// `holdfast prices`: the price table of the service, and models without a price.
import type { Prices as PricesAnswer, UsageReport as UsageReportAnswer } from '../../contract/costs.ts';
import { connectApi, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { Terminal } from '../terminal.ts';

type Row = PricesAnswer['rows'][number];

const DAY_MS = 86_400_000;

/** How far back `check` looks for models without a price, in days. */
const USED_DAYS = 30;

/** Prices that were not compared with their source for longer are noted, in days. */
const CHECKED_DAYS = 90;

/** Lists the rows in use. */
export async function runPricesList(flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).getPrices();
  if (terminal.isJson) {
    terminal.json(body);
    return EXIT.ok;
  }
  const price = (title: string, value: (row: Row) => number, dropOrder?: number) => ({
    title,
    value: (row: Row) => String(value(row)),
    align: 'right' as const,
    ...(dropOrder === undefined ? {} : { dropOrder }),
  });
  terminal.table<Row>(
    [
      { title: 'MODEL', value: (row) => row.model },
      { title: 'FROM', value: (row) => row.from ?? '', dropOrder: 4 },
      { title: 'TO', value: (row) => row.to ?? '', dropOrder: 3 },
      price('IN', (row) => row.inputPerMTok),
      price('OUT', (row) => row.outputPerMTok),
      price('READ', (row) => row.cacheReadPerMTok, 1),
      price('WRITE 5M', (row) => row.cacheWrite5mPerMTok, 1),
      price('WRITE 1H', (row) => row.cacheWrite1hPerMTok, 2),
      { title: 'LONG PROMPT', value: longPromptText, dropOrder: 5 },
      { title: 'CHECKED', value: (row) => row.checkedAt ?? '', dropOrder: 6 },
    ],
    body.rows,
  );
  terminal.note(`version ${body.version}`);
  return EXIT.ok;
}

function longPromptText({ longPrompt }: Row): string {
  if (longPrompt === null) return '';
  return `over ${longPrompt.overTokens}: ${longPrompt.inputPerMTok} in, ${longPrompt.outputPerMTok} out`;
}

/** Names the models that were used lately without a price, and rows that were not checked for long. Exit 1 when there are such models. */
export async function runPricesCheck(flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const api = connectApi(flags);
  const nowMs = Date.now();
  const from = new Date(nowMs - USED_DAYS * DAY_MS).toISOString();
  const [prices, used] = await Promise.all([api.getPrices(), api.getUsage({ by: 'day', group: 'model', from })]);
  const unpriced = unpricedModels(used);
  const unchecked = prices.rows.filter(({ checkedAt }) => isOld(checkedAt, nowMs));
  if (terminal.isJson) terminal.json({ version: prices.version, unpriced, unchecked });
  else {
    for (const { model, calls } of unpriced)
      terminal.print(`${model}: ${calls} calls without a price in ${USED_DAYS} days; add a row to models.prices`);
    for (const { model, from: since, checkedAt } of unchecked)
      terminal.print(`${model}${since === null ? '' : ` (from ${since})`}: last checked ${checkedAt ?? 'never'}`);
    if (unpriced.length + unchecked.length === 0) terminal.note('every model that was used has a price');
  }
  return unpriced.length === 0 ? EXIT.ok : EXIT.failed;
}

function unpricedModels({ items }: UsageReportAnswer): { model: string; calls: number }[] {
  const calls = new Map<string, number>();
  for (const { group, unpricedCalls } of items) {
    if (group !== null && unpricedCalls > 0) calls.set(group, (calls.get(group) ?? 0) + unpricedCalls);
  }
  return [...calls].map(([model, count]) => ({ model, calls: count }));
}

function isOld(checkedAt: string | null, nowMs: number): boolean {
  return checkedAt === null || nowMs - Date.parse(checkedAt) > CHECKED_DAYS * DAY_MS;
}
