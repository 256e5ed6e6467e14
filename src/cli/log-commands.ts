// The command that reads the log files.
import { Option, type Command } from 'commander';
import type { RunCommand } from './options.ts';

/** From the least to the most important. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

export interface LogOptions {
  follow?: boolean;
  turn?: string;
  session?: string;
  level?: (typeof LOG_LEVELS)[number];
}

/** Adds `logs`. */
export function addLogCommands(program: Command, run: RunCommand): void {
  program
    .command('logs')
    .helpGroup('Look:')
    .description(
      'print the log files of the data directory, oldest line first; in a pipe as stored, one JSON line per record',
    )
    .option('-f, --follow', 'also print new lines, until Ctrl-C')
    .option('--turn <id>', 'only lines about this turn: its id, or the last 6 to 12 digits')
    .option('--session <key>', 'only lines about this session')
    .addOption(new Option('--level <level>', 'only lines of this level or above').choices(LOG_LEVELS))
    .action((options: LogOptions, command: Command) =>
      run(command, async (terminal, flags) => (await import('./commands/logs.ts')).runLogs(options, flags, terminal)),
    );
}
