// `pause`, `resume` and `pauses`.
import { Option, type Command } from 'commander';
import { LANES } from '../config/choices.ts';
import type { RunCommand } from './options.ts';

export interface PauseOptions {
  lane?: (typeof LANES)[number];
  agent?: string;
  session?: string;
  reason?: string;
}

/** Adds the three. */
export function addPauseCommands(program: Command, run: RunCommand): void {
  const load = () => import('./commands/pauses.ts');
  scoped(program.command('pause'))
    .description('start no more turns of a lane, an agent or a session, or none at all; running turns finish')
    .action((options: PauseOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runPause(options, flags, terminal)),
    );
  scoped(program.command('resume'))
    .description('end the pause of exactly this scope; without options, all pauses')
    .action((options: PauseOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runResume(options, flags, terminal)),
    );
  program
    .command('pauses')
    .helpGroup('Look:')
    .description('list pauses, oldest first')
    .action((_options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runPauses(flags, terminal)),
    );
}

function scoped(command: Command): Command {
  return command
    .helpGroup('Run:')
    .addOption(new Option('--lane <lane>', 'only this lane').choices(LANES))
    .option('--agent <id>', 'only this agent')
    .option('--session <key>', 'only this session')
    .option('--reason <text>', 'the reason, shown with the pause');
}
