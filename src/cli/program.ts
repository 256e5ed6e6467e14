// The table of commands: their names and arguments. Their code is loaded when they are called.
import { holdfastVersion } from './holdfast-version.ts';
import { Command } from 'commander';
import { EXIT_CODES_HELP, type ExitCode } from './cli-error.ts';
import { addBatchCommands } from './batch-commands.ts';
import { addBulkCommands } from './bulk-commands.ts';
import { addClientCommands } from './client-commands.ts';
import { addBudgetCommands } from './budget-commands.ts';
import { addCompletionCommands } from './completion-commands.ts';
import { addCostCommands } from './cost-commands.ts';
import { addCronCommands } from './cron-commands.ts';
import { addDeadCommands } from './dead-commands.ts';
import { addLogCommands } from './log-commands.ts';
import { addKeyCommands } from './key-commands.ts';
import { addServiceCommands } from './service-commands.ts';
import type { GlobalFlags, RunCommand } from './options.ts';
import { addModelCommands } from './model-commands.ts';
import { addPauseCommands } from './pause-commands.ts';
import { addSubagentCommands } from './subagent-commands.ts';
import { addWaitingCommands } from './waiting-commands.ts';
import { addWorkerCommands } from './worker-commands.ts';
import { openTerminal } from './terminal.ts';

/** The whole command line. `onEnd` is given the exit code of the command that ran. */
export function buildProgram(onEnd: (exitCode: ExitCode) => void): Command {
  const program = new Command('holdfast')
    .description('Runs LLM agents as a service: start it, send messages, inspect what it does.')
    .version(holdfastVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .option('--json', 'print data as JSON on stdout, errors as problem+json on stderr')
    .option('--no-color', 'print without colour, like NO_COLOR')
    .option('--url <url>', 'the service to use (default: HOLDFAST_URL, host and port, or the data directory)')
    .option(
      '--api-key <key>',
      'its API key (default: HOLDFAST_API_KEY or the data directory); visible in the process list',
    )
    .addHelpText('after', `\n${EXIT_CODES_HELP}`)
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError(true)
    // Errors are thrown, and reported in one place.
    .exitOverride()
    .configureOutput({ outputError: () => undefined });
  const run: RunCommand = async (command, action) => {
    const flags = command.optsWithGlobals<GlobalFlags>();
    const terminal = openTerminal({ isJson: flags.json === true, mayColor: flags.color });
    onEnd(await action(terminal, flags));
  };
  addServiceCommands(program, run);
  addClientCommands(program, run);
  addBatchCommands(program, run);
  addCronCommands(program, run);
  addSubagentCommands(program, run);
  addDeadCommands(program, run);
  addBulkCommands(program, run);
  addCostCommands(program, run);
  addBudgetCommands(program, run);
  addKeyCommands(program, run);
  addWaitingCommands(program, run);
  addWorkerCommands(program, run);
  addPauseCommands(program, run);
  addModelCommands(program, run);
  addLogCommands(program, run);
  addCompletionCommands(program, run);
  inheritSettings(program);
  return program;
}

/** Groups are made before the settings of the program reach them: hand them down. */
function inheritSettings(parent: Command): void {
  for (const child of parent.commands) {
    child.copyInheritedSettings(parent);
    inheritSettings(child);
  }
}
