// `models blocks` and `models unblock`.
import type { Command } from 'commander';
import type { RunCommand } from './options.ts';

/** Adds `models`. */
export function addModelCommands(program: Command, run: RunCommand): void {
  const load = () => import('./commands/model-blocks.ts');
  const models = program
    .command('models')
    .helpGroup('Look:')
    .description('models that are not called, because their provider has asked for that');
  models
    .command('blocks')
    .description('list them, with the time at which their calls resume')
    .action((_options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runModelBlocks(flags, terminal)),
    );
  models
    .command('unblock')
    .description('call a model again before that time, or all of them; the turns that wait for it resume')
    .argument('[model]', 'provider/model')
    .option('--reason <text>', 'the reason, stored in the audit log')
    .action((model: string | undefined, options: { reason?: string }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runUnblock({ model, ...options }, flags, terminal)),
    );
}
