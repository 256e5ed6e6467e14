// `budgets list`, `add` and `rm`.
import { Argument, Option, type Command } from 'commander';
import { BUDGET_ACTIONS, BUDGET_PERIODS } from '../core/budget/budget.ts';
import { dollars, wholeNumber, type RunCommand } from './options.ts';

export interface NewBudgetOptions {
  zone?: string;
  warn?: number;
  action?: string;
  strict?: boolean;
}

/** Adds `budgets`. */
export function addBudgetCommands(program: Command, run: RunCommand): void {
  const load = () => import('./commands/budgets.ts');
  const budgets = program.command('budgets').helpGroup('Look:').description('how much model calls may cost');
  budgets
    .command('list')
    .description('list the budgets with the spent and reserved amounts of their current windows')
    .action((_options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runBudgetsList(flags, terminal)),
    );
  budgets
    .command('add')
    .description('create a budget; prints its id')
    .argument('<scope>', 'all, agent:<id>, session:<key pattern with *> or key:<name of an API key>')
    .addArgument(new Argument('<per>', 'the window').choices(BUDGET_PERIODS))
    .argument('<dollars>', 'the limit of a window', dollars)
    .option('--zone <zone>', 'the time zone in which days and months begin')
    .option('--warn <percent>', 'the percentage at which an event is sent', wholeNumber(1, 100))
    .addOption(
      new Option('--action <action>', 'what happens to turns without room in the budget').choices(BUDGET_ACTIONS),
    )
    .option('--strict', 'reserve the most that each call can cost, so the limit is never exceeded')
    .action((scope: string, per: string, limitUsd: number, options: NewBudgetOptions, command: Command) =>
      run(command, async (terminal, flags) =>
        (await load()).runBudgetsAdd({ scope, per, limitUsd }, options, flags, terminal),
      ),
    );
  budgets
    .command('rm')
    .description('remove a budget; turns that wait for it resume')
    .argument('<id>')
    .action((id: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runBudgetsRemove(id, flags, terminal)),
    );
}
