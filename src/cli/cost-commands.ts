// Commands about money: usage and prices.
import { Option, type Command } from 'commander';
import { USAGE_GROUPS, USAGE_STEPS } from '../core/usage-steps.ts';
import { filteredByTag, type RunCommand } from './options.ts';

/** Adds `usage` and `prices`. */
export function addCostCommands(program: Command, run: RunCommand): void {
  filteredByTag(program.command('usage'))
    .helpGroup('Look:')
    .description('print usage and costs, oldest first')
    .addOption(new Option('--by <step>', 'the length of a step').choices(USAGE_STEPS).default('day'))
    .addOption(new Option('--group <group>', 'one line for each of these').choices(USAGE_GROUPS))
    .option('--since <time>', 'only since: ISO 8601, or a duration such as 12h')
    .action((options: UsageOptions, command: Command) =>
      run(command, async (terminal, flags) => (await import('./commands/usage.ts')).runUsage(options, flags, terminal)),
    );
  addPrices(program, run);
}

export interface UsageOptions {
  by: string;
  group?: string;
  since?: string;
  tag?: string;
}

function addPrices(program: Command, run: RunCommand): void {
  const load = () => import('./commands/prices.ts');
  const prices = program.command('prices').helpGroup('Look:').description('what models cost');
  prices
    .command('list')
    .description('list the prices in use, in dollars per million tokens')
    .action((_options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runPricesList(flags, terminal)),
    );
  prices
    .command('check')
    .description('find used models without a price (exit 1), and prices that were not checked recently')
    .action((_options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runPricesCheck(flags, terminal)),
    );
  prices
    .command('reprice')
    .description(
      'recalculate the costs of past calls with the prices of this configuration; works on the database directly',
    )
    .requiredOption('--from <time>', 'calls that started then or later: ISO 8601, or a duration such as 7d')
    .option('--to <time>', 'calls that started before; by default all until now')
    .option('--reason <text>', 'the reason, stored with the repricing')
    .option('--dry-run', 'change nothing, and print what would change')
    .option('--yes', 'do not ask for confirmation')
    .action((options: RepriceOptions, command: Command) =>
      run(command, async (terminal) => (await import('./commands/reprice.ts')).runReprice(options, terminal)),
    );
}

export interface RepriceOptions {
  from: string;
  to?: string;
  reason?: string;
  dryRun?: boolean;
  yes?: boolean;
}
