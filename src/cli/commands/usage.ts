// `holdfast usage`: usage and its cost.
import type { UsageReport as UsageReportAnswer } from '../../contract/costs.ts';
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { UsageOptions } from '../cost-commands.ts';
import { dollarsText } from '../dollars.ts';
import { pastTime } from '../time-option.ts';
import { printTable } from '../print.ts';
import type { Terminal } from '../terminal.ts';

type UsageRow = UsageReportAnswer['items'][number];

/** Prints a line for each step and group, and the sum. */
export async function runUsage(
  { since, ...query }: UsageOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const from = since === undefined ? undefined : pastTime(since);
  const body = await connectApi(flags).getUsage(fromOptions({ ...query, from }));
  const count = (title: string, value: (row: UsageRow) => number, dropOrder: number) => ({
    title,
    value: (row: UsageRow) => String(value(row)),
    align: 'right' as const,
    dropOrder,
  });
  printTable<UsageRow>(
    body,
    [
      { title: 'FROM', value: (row) => row.startsAt.slice(0, query.by === 'day' ? 10 : 16) },
      ...(query.group === undefined
        ? []
        : [{ title: query.group.toUpperCase(), value: (row: UsageRow) => row.group ?? '' }]),
      count('TURNS', (row) => row.turns, 5),
      count('CALLS', (row) => row.calls, 4),
      count('FAILED', (row) => row.failures, 7),
      count('IN', (row) => row.inputTokens, 1),
      count('OUT', (row) => row.outputTokens, 2),
      count('CACHE READ', (row) => row.cacheReadTokens, 3),
      count('CACHE WRITE', (row) => row.cacheWriteTokens, 6),
      { title: 'COST', value: (row) => dollarsText(row.costUsd), align: 'right' },
    ],
    terminal,
  );
  noteSum(body, terminal);
  return EXIT.ok;
}

function noteSum({ items, simulated }: UsageReportAnswer, terminal: Terminal): void {
  const micros = items.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
  const unpriced = items.reduce((sum, { unpricedCalls }) => sum + unpricedCalls, 0);
  terminal.note(`together ${dollarsText(micros / 1_000_000)}`);
  if (simulated) terminal.note('some of it is of the scripted model: that money was not spent');
  if (unpriced > 0) terminal.note(`${unpriced} calls have no known cost; "holdfast prices check" names their models`);
}
