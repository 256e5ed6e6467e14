// `bulk run`, `list`, `show` and `cancel`: one decision about many things.
import { Argument, type Command } from 'commander';
import { BULK_TARGETS, BULK_VERBS } from '../core/bulk/bulk-action.ts';
import { wholeNumber, type PageOptions, type RunCommand } from './options.ts';

const PAGE_ITEMS = 50;
const PAGE_ITEMS_MAX = 200;
const PER_SECOND_MAX = 1_000;

export interface BulkRunOptions {
  session?: string;
  status?: string;
  kind?: string;
  lane?: string;
  since?: string;
  agent?: string;
  model?: string;
  code?: string;
  ids?: string;
  all?: boolean;
  canary?: boolean;
  perSecond?: number;
  reason?: string;
  dryRun?: boolean;
  yes?: boolean;
}

/** Adds `bulk`. */
export function addBulkCommands(program: Command, run: RunCommand): void {
  const load = () => import('./commands/bulk.ts');
  const bulk = program
    .command('bulk')
    .helpGroup('Look:')
    .description('one action on many turns, messages, deliveries or dead letters');
  bulk
    .command('run')
    .description('apply an action to everything that the options select, and follow it; Ctrl-C leaves it running')
    .addArgument(new Argument('<action>', 'what is done').choices(BULK_VERBS))
    .addArgument(new Argument('<target>', 'what it is done to').choices(BULK_TARGETS))
    .option('--session <key>', 'only of this session')
    .option('--status <statuses>', 'only turns or deliveries with these statuses, separated by commas')
    .option('--kind <kind>', 'only turns or dead letters of this kind')
    .option('--lane <lane>', 'only turns of this lane')
    .option('--since <time>', 'only turns started since: ISO 8601, or a duration such as 30m')
    .option('--agent <id>', 'only turns of this agent')
    .option('--model <model>', 'only turns of this model')
    .option('--code <code>', 'only turns or dead letters with this error code')
    .option('--ids <ids>', 'these ids, separated by commas')
    .option('--all', 'all objects of the target, if no other option selects some')
    .option('--canary', 'retry or redrive one first; the others follow if it succeeds')
    .option('--per-second <count>', 'maximum number per second', wholeNumber(1, PER_SECOND_MAX))
    .option('--reason <text>', 'the reason, stored with the action')
    .option('--dry-run', 'only count the matching objects')
    .option('--yes', 'start without asking for confirmation')
    .action((action: string, target: string, options: BulkRunOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runBulk({ action, target }, options, flags, terminal)),
    );
  bulk
    .command('list')
    .description('list bulk actions, newest first')
    .option('--limit <count>', 'the size of the page', wholeNumber(1, PAGE_ITEMS_MAX), PAGE_ITEMS)
    .option('--cursor <cursor>', 'continue after the page that printed this cursor')
    .action((options: PageOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runBulkList(options, flags, terminal)),
    );
  bulk
    .command('show')
    .description('print one bulk action, and the items that it skipped or failed')
    .argument('<id>')
    .action((id: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runBulkShow(id, flags, terminal)),
    );
  bulk
    .command('cancel')
    .description('stop an action; finished items are not undone')
    .argument('<id>')
    .action((id: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runBulkCancel(id, flags, terminal)),
    );
}
