// `holdfast budgets`: how much model calls may cost.
import type { BudgetView as BudgetAnswer } from '../../contract/budgets.ts';
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import type { NewBudgetOptions } from '../budget-commands.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { dollarsText } from '../dollars.ts';
import { printTable } from '../print.ts';
import type { Terminal } from '../terminal.ts';

const PERCENT = 100;

/** Lists the budgets with their spending. */
export async function runBudgetsList(flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).listBudgets();
  const right = { align: 'right' as const };
  printTable<BudgetAnswer>(
    body,
    [
      { title: 'SCOPE', value: (row) => row.scope },
      { title: 'PER', value: (row) => row.per },
      { title: 'SPENT', value: spentText, ...right },
      { title: 'RESERVED', value: (row) => dollarsText(row.reservedUsd), ...right, dropOrder: 3 },
      { title: 'LIMIT', value: (row) => dollarsText(row.limitUsd), ...right },
      { title: 'USED', value: usedText, ...right },
      { title: 'ENDS', value: (row) => (row.endsAt === null ? '' : terminal.time(row.endsAt)), dropOrder: 2 },
      { title: 'WHEN REACHED', value: (row) => row.action, dropOrder: 5 },
      { title: 'FROM', value: (row) => row.origin, dropOrder: 4 },
      { title: 'ID', value: (row) => row.id, dropOrder: 1 },
    ],
    terminal,
  );
  if (body.items.length === 0) terminal.note('no budgets; add one with: holdfast budgets add all day 10');
  return EXIT.ok;
}

/** Answers of the scripted model count for budgets, and nothing is paid for them. */
function spentText({ spentUsd, simulated }: BudgetAnswer): string {
  return `${dollarsText(spentUsd)}${simulated && spentUsd > 0 ? ' simulated' : ''}`;
}

function usedText({ spentUsd, reservedUsd, limitUsd, isReached }: BudgetAnswer): string {
  if (limitUsd === 0) return 'reached';
  const percent = `${Math.floor(((spentUsd + reservedUsd) / limitUsd) * PERCENT)} %`;
  return isReached ? `${percent}, reached` : percent;
}

/** Makes a budget. */
export async function runBudgetsAdd(
  budget: { scope: string; per: string; limitUsd: number },
  { zone, warn, action, strict }: NewBudgetOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).createBudget({
    body: fromOptions({ ...budget, zone, warnPercent: warn, action, strict: strict === true ? true : undefined }),
  });
  if (terminal.isJson) terminal.json(body);
  else terminal.print(body.id);
  return EXIT.ok;
}

/** Removes a budget. */
export async function runBudgetsRemove(id: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).deleteBudget({ id });
  if (terminal.isJson) terminal.json(body);
  else {
    terminal.print(`the budget ${id} is removed`);
    terminal.note('turns that waited for it resume');
  }
  return EXIT.ok;
}
