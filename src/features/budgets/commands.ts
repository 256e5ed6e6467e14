// `holdfast budgets`: how much model calls may cost.
import type { BudgetView } from '../../contract/budgets.ts';
import { BUDGET_ACTIONS, BUDGET_PERIODS } from './rules/budget.ts';
import { command, lists, prints, type Words } from '../../cli/command.ts';
import { NOTES_SIMULATED } from '../../cli/print.ts';
import { costText, moneyText } from '../../core/words.ts';
import { dollars, wholeNumber } from '../../cli/options.ts';

const PERCENT = 100;

export const words: Words = {
  budgets: {
    list: command({
      summary: 'list the budgets with the spent and reserved amounts of their current windows',
      run: lists(
        'listBudgets',
        (terminal, _input, rows) => [
          { title: 'SCOPE', value: (row) => row.scope },
          { title: 'PER', value: (row) => row.per },
          { title: 'SPENT', value: (row) => costText({ ...row, costUsd: row.spentUsd }, rows), align: 'right' },
          { title: 'RESERVED', value: (row) => moneyText(row.reservedUsd), align: 'right', dropOrder: 3 },
          { title: 'LIMIT', value: (row) => moneyText(row.limitUsd), align: 'right' },
          { title: 'USED', value: usedText, align: 'right' },
          { title: 'ENDS', value: (row) => (row.endsAt === null ? '' : terminal.time(row.endsAt)), dropOrder: 2 },
          { title: 'WHEN REACHED', value: (row) => row.action, dropOrder: 5 },
          { title: 'FROM', value: (row) => row.origin, dropOrder: 4 },
          { title: 'ID', value: (row) => row.id, dropOrder: 1 },
        ],
        {
          none: 'no budgets; add one with: holdfast budgets add all day 10',
          ...NOTES_SIMULATED,
        },
      ),
    }),
    add: command({
      summary: 'create a budget; prints its id',
      takes: {
        scope: ['<scope>', 'all, agent:<id>, session:<key pattern with *> or key:<name of an API key>'],
        per: ['<per>', 'the window', BUDGET_PERIODS],
        limitUsd: ['<dollars>', 'the limit of a window', dollars],
        zone: ['--zone <zone>', 'the time zone in which days and months begin'],
        warnPercent: ['--warn <percent>', 'the percentage at which an event is sent', wholeNumber(1, PERCENT)],
        action: ['--action <action>', 'what happens to turns without room in the budget', BUDGET_ACTIONS],
        strict: ['--strict', 'reserve the most that each call can cost, so the limit is never exceeded'],
      },
      run: prints('createBudget', ({ id }) => id),
    }),
    rm: command({
      summary: 'remove a budget; turns that wait for it resume',
      takes: { id: ['<id>'] },
      run: prints('deleteBudget', (_answer, terminal, { id }) => {
        terminal.print(`the budget ${id} is removed`);
        terminal.note('turns that waited for it resume');
      }),
    }),
  },
};

function usedText({ spentUsd, reservedUsd, limitUsd, isReached }: BudgetView): string {
  if (limitUsd === 0) return 'reached';
  const percent = `${Math.floor(((spentUsd + reservedUsd) / limitUsd) * PERCENT)} %`;
  return isReached ? `${percent}, reached` : percent;
}
