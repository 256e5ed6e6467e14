// A command is a row: its name, what it takes, and what it does. `program.ts` makes the command
// line of the rows, and the help, the completion and the reference are made of that.
import type { Command } from 'commander';
import type { OperationFunctions } from '../client/create-client.ts';
import type { AnswerOf, ApiClient, ClientFlags } from './api-client.ts';
import { notFound, type ExitCode } from './cli-error.ts';
import { noteNextPage, printTable } from './print.ts';
import type { TableColumn } from './table.ts';
import type { Terminal } from './terminal.ts';

/**
 * An argument or an option as the help has it, its description, and how its text becomes a value:
 * by a function, or because it is one of several; absent: it is the text. An option that may be
 * repeated gets its value so far. `preset` is the value if it is not given; of an option that needs
 * no text, the value if it is given without one.
 */
type Taken = readonly [
  flags: string,
  description?: string,
  how?: ((text: string, before: never) => unknown) | readonly string[] | undefined,
  preset?: string | number,
];

type Takes = Readonly<Record<string, Taken>>;

type Read<How> = How extends (...texts: never[]) => infer Value
  ? Value
  : How extends readonly (infer Choice)[]
    ? Choice
    : string;

type Bare<Preset> = Preset extends string | number ? Preset : boolean;

type ValueOf<Flags, How, Preset> = Flags extends `<${string}`
  ? Read<How>
  : Flags extends `--no-${string}`
    ? boolean
    : Flags extends `${string}...${'>' | ']'}`
      ? string[] | undefined
      : Flags extends `${string}<${string}` | `[${string}`
        ? Read<How> | (Preset extends string | number ? never : undefined)
        : Flags extends `${string}[${string}`
          ? Read<How> | Bare<Preset> | undefined
          : Bare<Preset> | undefined;

/** What a command is given: a value for each thing that it takes. */
export type InputOf<Given extends Takes> = {
  [Name in keyof Given]: ValueOf<Given[Name][0], Given[Name][2], Given[Name][3]>;
};

interface Naming<Given extends Takes> {
  /** Another name. */
  alias?: string;
  /** One line for the help; absent: `program.ts` has it. */
  summary?: string;
  /** By the names that the operation or `run` has for them, in the order of the help. */
  takes?: Given;
}

/** Options that every command takes, before or after its name. */
export interface GlobalFlags extends ClientFlags {
  json?: boolean;
  color: boolean;
}

/** What a row is run with, besides its input. */
export interface Surroundings {
  terminal: Terminal;
  flags: GlobalFlags;
  program: Command;
}

/** Nothing is exit code 0. */
type End = Promise<ExitCode | void>;

/** A row as `program.ts` reads it. */
export interface CommandRow extends Naming<Takes> {
  run: (input: object, around: Surroundings) => End;
}

/**
 * What a word of the first level is: a command, or a noun with commands by their names, in the
 * order of the help.
 */
export type Words = Readonly<Record<string, CommandRow | Readonly<Record<string, CommandRow>>>>;

type HelpGroup = 'Run' | 'Inspect' | 'Talk' | 'Look' | 'Schedule';

/**
 * A word of the first level: the part of the help that it stands in, and its summary. One that
 * begins with `__` is hidden.
 */
type Heading = readonly [helpGroup: HelpGroup, summary: string];

/**
 * The file of some commands and its words, each with what its command takes; null: a noun of
 * another file, which gets verbs of this one.
 */
export type CommandFile = readonly [
  load: () => Promise<{ words: Words }>,
  words: Readonly<Record<string, Heading | null>>,
];

/** A command that works on this machine. */
export function localCommand<const Given extends Takes = Readonly<Record<never, never>>>({
  run,
  ...naming
}: Naming<Given> & { run: (input: InputOf<Given>, around: Surroundings) => End }): CommandRow {
  // The program reads exactly what the row takes.
  return { ...naming, run: (input, around) => run(input as InputOf<Given>, around) };
}

/**
 * A command that talks to a running service. The code for that is loaded when it runs: the help
 * must be instant.
 */
export function command<const Given extends Takes = Readonly<Record<never, never>>>({
  run,
  ...naming
}: Naming<Given> & { run: (input: InputOf<Given>, api: ApiClient, terminal: Terminal) => End }): CommandRow {
  return localCommand<Given>({
    ...naming,
    async run(input, { terminal, flags }) {
      const { connectApi } = await import('./api-client.ts');
      return run(input, connectApi(flags), terminal);
    },
  });
}

/**
 * Calls an operation and prints its answer: as it is with `--json`, otherwise the text that `show`
 * returns, or what it prints itself.
 */
export function prints<Id extends keyof OperationFunctions, Input extends object>(
  id: Id,
  show: (answer: AnswerOf<Id>, terminal: Terminal, input: Input) => string | void,
) {
  return async (input: Input, api: ApiClient, terminal: Terminal): Promise<void> => {
    const answer = await api.call(id, input);
    if (terminal.isJson) return terminal.json(answer);
    const text = show(answer, terminal, input);
    if (typeof text === 'string') terminal.print(text);
  };
}

/** Throws that the session or the agent of an empty list does not exist: a wrong name lists nothing. */
async function requireNamed(named: { session?: unknown; agent?: unknown }, api: ApiClient): Promise<void> {
  if (typeof named.session === 'string') await api.getSession({ key: named.session });
  if (typeof named.agent !== 'string') return;
  const { items } = await api.listAgents();
  if (!items.some(({ id }) => id === named.agent))
    throw notFound(`there is no agent ${named.agent} in the configuration`, '"holdfast config show" shows the agents');
}

/** The operations that answer a list. */
type ListId = {
  [Id in keyof OperationFunctions]: AnswerOf<Id> extends { items: readonly unknown[] } ? Id : never;
}[keyof OperationFunctions];

type ItemOf<Id extends ListId> = AnswerOf<Id> extends { items: readonly (infer Item)[] } ? Item : never;

interface ListNotes<Answer> {
  /** What is said after the table. */
  note?: (answer: Answer, terminal: Terminal) => void;
  /** What is said of an empty list. */
  none?: string;
}

/** Calls an operation and prints the list that it answers, and how to get its next page. */
export function lists<Id extends ListId, Input extends object>(
  id: Id,
  columns: (terminal: Terminal, input: Input, rows: readonly ItemOf<Id>[]) => readonly TableColumn<ItemOf<Id>>[],
  { note, none }: ListNotes<AnswerOf<Id>> = {},
) {
  return async (input: Input, api: ApiClient, terminal: Terminal): Promise<void> => {
    const answer = await api.call(id, input);
    // `ListId` says that of each of them.
    const list = answer as { items: ItemOf<Id>[]; nextCursor?: string | null };
    if (list.items.length === 0) await requireNamed(input, api);
    printTable(list, columns(terminal, input, list.items), terminal);
    note?.(answer, terminal);
    noteNextPage(list, terminal, none);
  };
}
