// `holdfast usage`: usage and its cost. `holdfast prices`: the price table of the service, and
// models without a price.
import type { Prices, UsageReport } from '../../contract/costs.ts';
import { USAGE_GROUPS, USAGE_STEPS } from '../../core/prices.ts';
import { EXIT, usageError } from '../../cli/cli-error.ts';
import { command, lists, localCommand, prints, type Words } from '../../cli/command.ts';
import { moneyText, simulatedNote } from '../../core/words.ts';
import { TAG_FILTER } from '../../cli/options.ts';
import { pastTime } from '../../cli/time-option.ts';

type Price = Prices['rows'][number];

const DAY_MS = 86_400_000;
const SOME_SIMULATED = 'some of it is of the scripted model: that money was not spent';

/** How far back `check` looks for models without a price, in days. */
const USED_DAYS = 30;

/** Prices that were not compared with their source for longer are noted, in days. */
const CHECKED_DAYS = 90;

export const words: Words = {
  usage: command({
    takes: {
      ...TAG_FILTER,
      by: ['--by <step>', 'the length of a step', USAGE_STEPS, 'day'],
      group: ['--group <group>', 'one line for each of these', USAGE_GROUPS],
      from: ['--since <time>', 'only since: ISO 8601, or a duration such as 12h', pastTime],
    },
    run: lists(
      'getUsage',
      (_terminal, { by, group }: { by: string; group: string | undefined }) => [
        { title: 'FROM', value: (row) => row.startsAt.slice(0, by === 'day' ? 10 : 16) },
        ...(group === undefined ? [] : [{ title: group.toUpperCase(), value: (row: Usage) => row.group ?? '' }]),
        { title: 'TURNS', value: (row) => row.turns, dropOrder: 5 },
        { title: 'CALLS', value: (row) => row.calls, dropOrder: 4 },
        { title: 'FAILED', value: (row) => row.failures, dropOrder: 7 },
        { title: 'IN', value: (row) => row.inputTokens, dropOrder: 1 },
        { title: 'OUT', value: (row) => row.outputTokens, dropOrder: 2 },
        { title: 'CACHE READ', value: (row) => row.cacheReadTokens, dropOrder: 3 },
        { title: 'CACHE WRITE', value: (row) => row.cacheWriteTokens, dropOrder: 6 },
        { title: 'COST', value: (row) => moneyText(row.costUsd), align: 'right' },
      ],
      {
        note({ items, simulated }, terminal) {
          const micros = items.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
          const unpriced = items.reduce((sum, { unpricedCalls }) => sum + unpricedCalls, 0);
          terminal.note(`together ${moneyText(micros / 1_000_000)}`);
          if (simulated) terminal.note(simulatedNote(items) ?? SOME_SIMULATED);
          if (unpriced > 0)
            terminal.note(`${unpriced} calls have no known cost; "holdfast prices check" names their models`);
        },
      },
    ),
  }),
  prices: {
    list: command({
      summary: 'list the prices in use, in dollars per million tokens',
      run: prints('getPrices', ({ rows, version }, terminal) => {
        terminal.table<Price>(
          [
            { title: 'MODEL', value: (row) => row.model },
            { title: 'FROM', value: (row) => row.from, dropOrder: 4 },
            { title: 'TO', value: (row) => row.to, dropOrder: 3 },
            { title: 'IN', value: (row) => row.inputPerMTok },
            { title: 'OUT', value: (row) => row.outputPerMTok },
            { title: 'READ', value: (row) => row.cacheReadPerMTok, dropOrder: 1 },
            { title: 'WRITE 5M', value: (row) => row.cacheWrite5mPerMTok, dropOrder: 1 },
            { title: 'WRITE 1H', value: (row) => row.cacheWrite1hPerMTok, dropOrder: 2 },
            { title: 'LONG PROMPT', value: longPromptText, dropOrder: 5 },
            { title: 'CHECKED', value: (row) => row.checkedAt, dropOrder: 6 },
          ],
          rows,
        );
        terminal.note(`version ${version}`);
      }),
    }),
    check: command({
      summary: 'find used models without a price (exit 1), and prices that were not checked recently',
      async run(_input, api, terminal) {
        const nowMs = Date.now();
        const from = new Date(nowMs - USED_DAYS * DAY_MS).toISOString();
        const [prices, used] = await Promise.all([api.getPrices(), api.getUsage({ by: 'day', group: 'model', from })]);
        const unpriced = unpricedModels(used);
        const unchecked = prices.rows.filter(({ checkedAt }) => isOld(checkedAt, nowMs));
        if (terminal.isJson) terminal.json({ version: prices.version, unpriced, unchecked });
        else {
          for (const { model, calls } of unpriced)
            terminal.print(`${model}: ${calls} calls without a price in ${USED_DAYS} days; add a row to models.prices`);
          for (const [about, rows] of Map.groupBy(
            unchecked,
            ({ source, checkedAt }) => `last checked ${checkedAt ?? 'never'} (${source})`,
          ))
            terminal.print(`${rows.map(nameOfRow).join(', ')}: ${about}`);
          if (unpriced.length + unchecked.length === 0) terminal.note('every model that was used has a price');
        }
        return unpriced.length === 0 ? EXIT.ok : EXIT.failed;
      },
    }),
    reprice: localCommand({
      summary:
        'recalculate the costs of past calls with the prices of this configuration; works on the database directly',
      takes: {
        from: ['--from <time>', 'calls that started then or later: ISO 8601, or a duration such as 7d', pastTime],
        to: ['--to <time>', 'calls that started before; by default all until now', pastTime],
        reason: ['--reason <text>', 'the reason, stored with the repricing'],
        dryRun: ['--dry-run', 'change nothing, and print what would change'],
        yes: ['--yes', 'do not ask for confirmation'],
      },
      async run({ from, ...input }, { terminal }) {
        if (from === undefined)
          throw usageError("required option '--from <time>' not specified", 'add --help to see the allowed options');
        return (await import('./reprice-command.ts')).reprice({ from, ...input }, terminal);
      },
    }),
  },
};

function nameOfRow({ model, from }: Price): string {
  return `${model}${from === null ? '' : ` (from ${from})`}`;
}

type Usage = UsageReport['items'][number];

function longPromptText({ longPrompt }: Price): string {
  if (longPrompt === null) return '';
  return `over ${longPrompt.overTokens}: ${longPrompt.inputPerMTok} in, ${longPrompt.outputPerMTok} out`;
}

function unpricedModels({ items }: UsageReport): { model: string; calls: number }[] {
  const calls = new Map<string, number>();
  for (const { group, unpricedCalls } of items) {
    if (group !== null && unpricedCalls > 0) calls.set(group, (calls.get(group) ?? 0) + unpricedCalls);
  }
  return [...calls].map(([model, count]) => ({ model, calls: count }));
}

function isOld(checkedAt: string | null, nowMs: number): boolean {
  return checkedAt === null || nowMs - Date.parse(checkedAt) > CHECKED_DAYS * DAY_MS;
}
