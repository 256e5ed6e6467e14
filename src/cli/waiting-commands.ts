// `waiting` and `why`.
import { Option, type Command } from 'commander';
import { LANES } from '../config/choices.ts';
import { paged, type PageOptions, type RunCommand } from './options.ts';

export interface WaitingOptions extends PageOptions {
  lane?: string;
  session?: string;
  batch?: string;
}

/** Adds `waiting` and `why`. */
export function addWaitingCommands(program: Command, run: RunCommand): void {
  const load = () => import('./commands/waiting.ts');
  paged(
    program.command('waiting').helpGroup('Look:').description('list waiting messages with their reasons, oldest first'),
  )
    .addOption(new Option('--lane <lane>', 'only in this lane').choices(LANES))
    .option('--session <key>', 'only in this session')
    .option('--batch <id>', 'only of this batch')
    .action((options: WaitingOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runWaiting(options, flags, terminal)),
    );
  program
    .command('why')
    .helpGroup('Look:')
    .description('explain why something waits, and what to do next')
    .argument('<what>', 'a session key, or the id of a message, a turn or a delivery')
    .action((what: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runWhy(what, flags, terminal)),
    );
}
