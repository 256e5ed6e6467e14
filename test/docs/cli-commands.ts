// The command line as its program has it: every command that runs something, with its arguments and its options.
import type { Command, Option } from 'commander';
import { buildProgram } from '../../src/cli/program.ts';

export interface CliCommand {
  /** `sessions fork <session> <new-key>`. */
  usage: string;
  description: string;
  options: CliOption[];
}

export interface CliOption {
  /** `--wait [seconds]`. */
  flags: string;
  /** As the page writes it; `none` where it has none. */
  default: string;
  description: string;
}

/** The options that every command takes. */
export function globalOptions(): CliOption[] {
  return buildProgram(() => {}).options.map(optionOf);
}

/** Every command, in the order of the help; groups are not commands. */
export function cliCommands(): CliCommand[] {
  return leavesOf(
    buildProgram(() => {}),
    [],
  );
}

function leavesOf(parent: Command, path: string[]): CliCommand[] {
  // No help shows what begins with `__`.
  const shown = parent.commands.filter((command) => !command.name().startsWith('__'));
  return shown.flatMap((command) => {
    const names = [...path, [command.name(), ...command.aliases()].join('|')];
    if (command.commands.length > 0) return leavesOf(command, names);
    const args = command.registeredArguments.map((argument) =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
    );
    const options = command.options.map(optionOf);
    return [{ usage: [...names, ...args].join(' '), description: command.description(), options }];
  });
}

function optionOf({ flags, defaultValue, argChoices, description }: Option): CliOption {
  const choices = argChoices === undefined ? '' : `: ${argChoices.map((choice) => `\`${choice}\``).join(', ')}`;
  // A flag that negates is on unless it is given.
  const hasDefault = defaultValue !== undefined && typeof defaultValue !== 'boolean';
  return { flags, default: hasDefault ? `\`${defaultValue}\`` : 'none', description: description + choices };
}
