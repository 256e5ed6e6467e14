// The commands by which a shell completes the others.
import { Argument, type Command } from 'commander';
import type { RunCommand } from './options.ts';

/** Adds `completion`, and `__complete`, which no help shows. */
export function addCompletionCommands(program: Command, run: RunCommand): void {
  program
    .command('completion')
    .helpGroup('Inspect:')
    .description('print the script that makes a shell complete commands, options and ids')
    .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
    .action((shell: 'bash' | 'zsh' | 'fish', _options: object, command: Command) =>
      run(command, async (terminal) => (await import('./commands/completion.ts')).runCompletion(shell, terminal)),
    );
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action((words: string[], _options: object, command: Command) =>
      run(command, async (terminal, flags) =>
        (await import('./commands/complete.ts')).runComplete({ program, words }, flags, terminal),
      ),
    );
}
