// Commands about dead letters.
import type { Command } from 'commander';
import { careful, type CarefulOptions } from './is-sure.ts';
import { wholeNumber, type PageOptions, type RunCommand } from './options.ts';

const PAGE_ITEMS = 50;
const PAGE_ITEMS_MAX = 200;
const PER_SECOND_MAX = 1_000;

export interface DeadListOptions extends PageOptions {
  state?: string;
  code?: string;
}

export interface DeadActionOptions extends CarefulOptions {
  canary?: boolean;
  perSecond?: number;
}

/** Adds `dead`. */
export function addDeadCommands(program: Command, run: RunCommand): void {
  const load = () => import('./commands/dead.ts');
  const dead = program.command('dead').helpGroup('Look:').description('dead letters: failed turns and deliveries');
  dead
    .command('list')
    .description('list open dead letters, grouped by error code')
    .option('--state <state>', 'list redriven or discarded letters instead')
    .option('--code <code>', 'only letters with this error code')
    .option('--limit <count>', 'the size of the page', wholeNumber(1, PAGE_ITEMS_MAX), PAGE_ITEMS)
    .option('--cursor <cursor>', 'continue after the page that printed this cursor')
    .action((options: DeadListOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runDeadList(options, flags, terminal)),
    );
  dead
    .command('show')
    .description('print the newest dead letters of a code, or one dead letter')
    .argument('<which>', 'a code such as turn_timeout, or the id of a letter')
    .action((which: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runDeadShow(which, flags, terminal)),
    );
  for (const [verb, description] of [
    ['redrive', 'retry turns and send deliveries again; exit 9 if some dead letters stay open'],
    ['discard', 'give up letters'],
  ] as const) {
    const command = careful(dead.command(verb))
      .description(description)
      .argument('<which>', 'a code such as turn_timeout, or the id of a letter')
      .option('--per-second <count>', 'process them in the background, at this rate', wholeNumber(1, PER_SECOND_MAX));
    if (verb === 'redrive') command.option('--canary', 'redrive one first; the others follow if it succeeds');
    command.action((which: string, options: DeadActionOptions, self: Command) =>
      run(self, async (terminal, flags) => (await load()).runDeadAction({ verb, which, ...options }, flags, terminal)),
    );
  }
}
