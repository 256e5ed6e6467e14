// The entry of the command line: parses, runs one command, reports its error, sets the exit code.
// Nothing heavy is imported here or in what this file imports: `--help` must be instant, and each
// command loads its own file.
import { CommanderError, type Command } from 'commander';
import { CliError, EXIT, usageError, type ExitCode } from './cli-error.ts';
import { endProcess } from './end-process.ts';
import { buildProgram } from './program.ts';
import { FEATURES } from '../features.ts';

/** Runs a command line (without node and script) and sets the exit code of the process. */
export async function main(argv: string[]): Promise<void> {
  const exitCode = await runCommandLine(argv);
  process.exitCode = exitCode;
  // An open connection must not keep a finished command alive. Pending output gets this long.
  setTimeout(() => void endProcess(exitCode), EXIT_WITHIN_MS).unref();
}

const EXIT_WITHIN_MS = 1000;

async function runCommandLine(argv: string[]): Promise<ExitCode> {
  const result: { exitCode: ExitCode } = { exitCode: EXIT.ok };
  try {
    const program = await buildProgram(
      FEATURES,
      (exitCode) => {
        result.exitCode = exitCode;
      },
      argv,
    );
    refuseUnknownCommand(program, argv);
    await program.parseAsync(argv.length === 0 ? ['--help'] : argv, { from: 'user' });
    return result.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    // Help that was shown because a verb is missing says enough.
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
    const fault = toCliError(error);
    report(fault, isJsonWanted(argv));
    return fault.exitCode;
  }
}

/** With `--help`, commander shows the help of the level above for a command that does not exist. */
function refuseUnknownCommand(program: Command, argv: string[]): void {
  if (!argv.includes('--help') && !argv.includes('-h')) return;
  let parent = program;
  for (const word of argv) {
    // The word after an option may be its value; then commander decides.
    if (word.startsWith('-') || word === 'help' || parent.commands.length === 0) return;
    const found = parent.commands.find((command) => command.name() === word || command.aliases().includes(word));
    if (found === undefined) {
      throw usageError(
        `unknown command '${word}'`,
        `run "${[parent.parent?.name(), parent.name(), '--help'].filter(Boolean).join(' ')}" to see the commands`,
      );
    }
    parent = found;
  }
}

function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (error instanceof CommanderError) {
    return usageError(error.message.replace(/^error: /, ''), 'add --help to see the allowed options');
  }
  return new CliError({
    code: 'unexpected',
    exitCode: EXIT.failed,
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    fix: 'this is a fault of Holdfast: run "holdfast doctor", then report it with the lines above',
    cause: error,
  });
}

function report(fault: CliError, isJson: boolean): void {
  if (!isJson) {
    process.stderr.write(`holdfast: ${fault.message}\nFix: ${fault.fix}\n`);
    return;
  }
  const problem = {
    type: 'about:blank',
    title: fault.code,
    detail: fault.message,
    code: fault.code,
    ...fault.problem,
    exitCode: fault.exitCode,
    fix: fault.fix,
  };
  process.stderr.write(`${JSON.stringify(problem)}\n`);
}

function isJsonWanted(argv: string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}
