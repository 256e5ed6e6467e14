// Commands about dead letters.
import type { Command } from 'commander';
import { wholeNumber, type PageOptions, type RunCommand } from './options.ts';

const PAGE_ITEMS = 50;
const PAGE_ITEMS_MAX = 200;

/** Adds `dead`. */
export function addDeadCommands(program: Command, run: RunCommand): void {
  const load = () => import('./commands/dead.ts');
  const dead = program.command('dead').helpGroup('Look:').description('dead letters: what could not be finished');
  dead
    .command('list')
    .description('open dead letters, grouped by their error')
    .option('--state <state>', 'redriven or discarded ones')
    .option('--limit <count>', 'at most so many groups', wholeNumber(1, PAGE_ITEMS_MAX), PAGE_ITEMS)
    .option('--cursor <cursor>', 'continue after the page that named this')
    .action((options: PageOptions & { state?: string }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runDeadList(options, flags, terminal)),
    );
  dead
    .command('show')
    .description('the newest letters of a code, or one letter')
    .argument('<which>', 'a code such as turn_timeout, or the id of a letter')
    .action((which: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runDeadShow(which, flags, terminal)),
    );
  for (const [verb, description] of [
    ['redrive', 'retry turns and send deliveries again; exit 9 when some letters stay open'],
    ['discard', 'give letters up'],
  ] as const) {
    dead
      .command(verb)
      .description(description)
      .argument('<which>', 'a code such as turn_timeout, or the id of a letter')
      .action((which: string, _options: object, command: Command) =>
        run(command, async (terminal, flags) => (await load()).runDeadAction(verb, which, flags, terminal)),
      );
  }
}
