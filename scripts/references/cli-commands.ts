// The command line as its program has it: every command that runs something, with its arguments and
// its options.
import type { Argument, Command, Option } from 'commander';
import { buildProgram } from '../../src/cli/program.ts';
import { FEATURES } from '../../src/features.ts';

export interface CliCommand {
  /** `sessions fork <session> <new-key>`. */
  usage: string;
  description: string;
  arguments: CliOption[];
  options: CliOption[];
}

export interface CliOption {
  /** `--wait [seconds]`, `<session>`. */
  flags: string;
  /** As the page writes it; `none` where it has none. */
  default: string;
  description: string;
}

const program = await buildProgram(FEATURES, () => {});

/** The options that every command takes. */
export function globalOptions(): CliOption[] {
  return program.options.map(optionOf);
}

/** Every command, in the order of the help; groups are not commands. */
export function cliCommands(): CliCommand[] {
  return leavesOf(program, []);
}

function leavesOf(parent: Command, path: string[]): CliCommand[] {
  // No help shows names that begin with `__`.
  const shown = parent.commands.filter((command) => !command.name().startsWith('__'));
  return shown.flatMap((command) => {
    const names = [...path, [command.name(), ...command.aliases()].join('|')];
    if (command.commands.length > 0) return leavesOf(command, names);
    const args = command.registeredArguments.map(argumentOf);
    const usage = [...names, ...args.map(({ flags }) => flags)].join(' ');
    const options = command.options.map(optionOf);
    return [{ usage, description: command.description(), arguments: args, options }];
  });
}

function argumentOf(argument: Argument): CliOption {
  const { required, argChoices, description } = argument;
  const flags = required ? `<${argument.name()}>` : `[${argument.name()}]`;
  return { flags, default: 'none', description: description + choicesText(argChoices) };
}

function choicesText(choices: readonly string[] | undefined): string {
  return choices === undefined ? '' : `: ${choices.map((choice) => `\`${choice}\``).join(', ')}`;
}

function optionOf({ flags, defaultValue, argChoices, description }: Option): CliOption {
  // A flag that negates is on unless it is given.
  const hasDefault = defaultValue !== undefined && typeof defaultValue !== 'boolean';
  return {
    flags,
    default: hasDefault ? `\`${defaultValue}\`` : 'none',
    description: description + choicesText(argChoices),
  };
}
