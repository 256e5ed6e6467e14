// docs/references/cli.md: every command with its arguments and options, as its help has them.
import { cliCommands, globalOptions, type CliCommand, type CliOption } from './cli-commands.ts';
import { rowOf } from './schema-fields.ts';

const HEAD = `# Reference of the command line

Made from the commands themselves. [cli.md](../cli.md) explains how the command line is used: services, exit codes, completion.
A command is written \`holdfast <command>\`, in a checkout \`npx holdfast <command>\`.`;

export function cliReference(): string {
  const commands = cliCommands();
  const nouns = [...new Set(commands.map(nounOf))];
  const sections = nouns.map((noun) => {
    const own = commands.filter((command) => nounOf(command) === noun);
    return [`## ${noun}`, ...own.map(commandText)].join('\n\n');
  });
  return `${[HEAD, '## Every command', optionTable(globalOptions()), ...sections].join('\n\n')}\n`;
}

function nounOf({ usage }: CliCommand): string {
  return usage.split(' ')[0] ?? '';
}

function commandText({ usage, description, arguments: args, options }: CliCommand): string {
  const text = `**\`${usage}\`**: ${description}.`;
  const rows = [...args, ...options];
  return rows.length === 0 ? text : `${text}\n\n${optionTable(rows)}`;
}

function optionTable(options: CliOption[]): string {
  const rows = options.map(({ flags, default: value, description }) =>
    rowOf([`\`${flags}\``, value === 'none' ? '' : value, description]),
  );
  return ['| option | default | meaning |', '|---|---|---|', ...rows].join('\n');
}
