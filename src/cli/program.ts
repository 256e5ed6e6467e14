// The command line, made of the rows of the commands. Only the file of the word that is called is
// loaded.
import { Argument, Command, Help, InvalidArgumentError, Option } from 'commander';
import { describeChoices } from '../config/config-error.ts';
import { EXIT, EXIT_CODES_HELP, type ExitCode } from './cli-error.ts';
import type { CommandFile, CommandRow, GlobalFlags, Words } from './command.ts';
import { holdfastVersion } from './holdfast-version.ts';
import { openTerminal } from './terminal.ts';
import type { Feature } from '../kernel/features.ts';

/** The options of every command that have a value. */
const VALUED = ['--url', '--api-key'];

/**
 * The command line with the words of some features: for some arguments, without them the whole of
 * it. `onEnd` is given the exit code of the command that ran.
 */
export async function buildProgram(
  features: readonly Pick<Feature, 'commands'>[],
  onEnd: (exitCode: ExitCode) => void,
  argv?: readonly string[],
): Promise<Command> {
  const files: readonly CommandFile[] = [...FILES, ...features.flatMap(({ commands = [] }) => commands)];
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
    .configureHelp({ showGlobalOptions: true, subcommandTerm: formatTerm(files) })
    .showSuggestionAfterError(true)
    // Errors are thrown, and reported in one place.
    .exitOverride()
    .configureOutput({ outputError: () => undefined });
  const run: RunRow = async (row, command, input) => {
    const flags = command.optsWithGlobals<GlobalFlags>();
    const terminal = openTerminal({ isJson: flags.json === true, mayColor: flags.color });
    onEnd((await row.run(input, { terminal, flags, program })) ?? EXIT.ok);
  };
  const called = argv && calledWords(argv);
  for (const [load, words] of files) {
    for (const [usage, heading] of Object.entries(words)) {
      const [name = ''] = usage.split(' ');
      const command =
        heading === null
          ? program.commands.find((each) => each.name() === name)
          : program
              .command(name, { hidden: name.startsWith('__') })
              .helpGroup(`${heading[0]}:`)
              .description(heading[1]);
      if (command === undefined || called?.includes(name) === false) continue;
      const word = (await load()).words[name] ?? {};
      if (isRow(word)) addCommand(command, word, run);
      else for (const [verb, row] of Object.entries(word)) addCommand(command.command(verb), row, run);
    }
  }
  return program;
}

/** Words that have others after them: the word that they are about. */
const BEFORE_WORDS = ['help', '__complete'];

/** The words of the first level that a command line is about. */
function calledWords(argv: readonly string[]): readonly string[] {
  const words = argv.filter((text, at) => !text.startsWith('-') && !VALUED.includes(argv[at - 1] ?? ''));
  return words.slice(0, BEFORE_WORDS.includes(words[0] ?? '') ? 2 : 1);
}

/**
 * A command as its line of the help has it. One that is not loaded has no arguments and options
 * yet.
 */
function formatTerm(files: readonly CommandFile[]) {
  const usages = files.flatMap(([, words]) => Object.keys(words));
  return (command: Command): string => {
    const isWord = command.parent?.parent === null;
    const usage = isWord && usages.find((one) => one.split(' ')[0] === command.name());
    return usage || new Help().subcommandTerm(command);
  };
}

/** True for a command, false for a noun, of which a command may be named `run`. */
function isRow(word: Words[string]): word is CommandRow {
  return typeof word['run' as keyof typeof word] === 'function';
}

type RunRow = (row: CommandRow, command: Command, input: object) => Promise<void>;

function addCommand(command: Command, row: CommandRow, run: RunRow): void {
  if (row.summary !== undefined) command.description(row.summary);
  if (row.alias !== undefined) command.alias(row.alias);
  const readers = Object.entries(row.takes ?? {}).map(([name, [flags, description = '', how, preset]]) => {
    const taken = flags.startsWith('-') ? new Option(flags, description) : new Argument(flags, description);
    if (typeof how === 'function') taken.argParser<unknown>((text, before) => how(text, before as never));
    else if (how !== undefined) taken.choices(how).argParser((text: string) => parseChoice(text, how));
    if (preset !== undefined && (taken instanceof Argument || taken.required)) taken.default(preset);
    if (taken instanceof Option) {
      command.addOption(taken);
      const given = (): unknown => command.getOptionValue(taken.attributeName());
      return { name, read: () => (given() === true ? (preset ?? true) : given()) };
    }
    const at = command.registeredArguments.length;
    command.addArgument(taken);
    return { name, read: (): unknown => command.processedArgs[at] };
  });
  command.action(() => run(row, command, Object.fromEntries(readers.map(({ name, read }) => [name, read()]))));
}

function parseChoice(text: string, choices: readonly string[]): string {
  if (choices.includes(text)) return text;
  throw new InvalidArgumentError(`It must be one of ${describeChoices(text, choices)}.`);
}

// The kernel's words of the first level in the order of the help; those of features follow. Their
// commands are loaded when they are called: the help must be instant.

/** The files of the commands, with their words. */
export const FILES: readonly CommandFile[] = [
  [
    () => import('./commands/service.ts'),
    {
      'start [options]': ['Run', 'run the service; SIGTERM and Ctrl-C drain it, SIGHUP reads its configuration again'],
      'migrate [options]': ['Run', 'migrate the database to the newest schema'],
      demo: ['Run', 'show and check messages, tools, crons, subagents and a killed worker, in under a minute'],
      'scripted-model [options]': ['Run', 'run the scripted model server'],
      'scripted-platform': ['Run', 'run a chat platform whose people are scripted, to test bots'],
      doctor: ['Inspect', 'check everything that Holdfast needs; exit 1 if a check fails'],
      config: ['Inspect', 'the configuration of this machine'],
      version: ['Inspect', 'print the versions of Holdfast, Node and the platform'],
    },
  ],
  [
    () => import('./commands/send.ts'),
    {
      'send [options] <session> <text>': [
        'Talk',
        'send a message to a session; print its id or, with --wait, the reply',
      ],
    },
  ],
  [
    () => import('./commands/chat.ts'),
    { 'chat [options] [session]': ['Talk', 'talk to an agent; in a pipe, each line is a message'] },
  ],
  [() => import('./commands/sessions.ts'), { sessions: ['Look', 'sessions: conversations'] }],
  [() => import('./commands/messages.ts'), { messages: ['Look', 'messages that sessions have received'] }],
  [() => import('./commands/turns.ts'), { turns: ['Look', 'turns: the runs of sessions'] }],
  [() => import('./commands/events.ts'), { 'events [options]': ['Look', 'print live events until Ctrl-C'] }],
  [
    () => import('./commands/waiting.ts'),
    {
      'waiting [options]': ['Look', 'list waiting messages with their reasons, oldest first'],
      'why <what>': ['Look', 'explain why something waits, and what to do next'],
    },
  ],
  [() => import('./commands/workers.ts'), { workers: ['Look', 'the processes of the service'] }],
  [
    () => import('./commands/pauses.ts'),
    {
      'pause [options]': [
        'Run',
        'start no more turns of a lane, an agent or a session, or none at all; running turns finish',
      ],
      'resume [options]': ['Run', 'end the pause of exactly this scope; without options, all pauses'],
      pauses: ['Look', 'list pauses, oldest first'],
    },
  ],
  [
    () => import('./commands/models.ts'),
    { models: ['Look', 'what is known of models, and which are not called because their provider asked for that'] },
  ],
  [
    () => import('./commands/logs.ts'),
    {
      'logs [options]': [
        'Look',
        'print the log files of the data directory, oldest line first; in a pipe as stored, one JSON line per record',
      ],
    },
  ],
  [
    () => import('./commands/completion.ts'),
    {
      'completion <shell>': ['Inspect', 'print the script that makes a shell complete commands, options and ids'],
      __complete: ['Inspect', ''],
    },
  ],
];
