// `workers list` and `workers drain`.
import type { Command } from 'commander';
import { paged, type PageOptions, type RunCommand } from './options.ts';

/** Adds `workers`. */
export function addWorkerCommands(program: Command, run: RunCommand): void {
  const load = () => import('./commands/workers.ts');
  const workers = program.command('workers').helpGroup('Look:').description('the processes of the service');
  paged(workers.command('list').description('list processes with the slots of their lanes, newest first')).action(
    (options: PageOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runWorkersList(options, flags, terminal)),
  );
  workers
    .command('drain')
    .description('drain a process: it finishes or releases its turns, then exits')
    .argument('<id>')
    .action((id: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runWorkersDrain(id, flags, terminal)),
    );
}
