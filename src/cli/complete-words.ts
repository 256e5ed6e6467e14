// What a shell may offer for the last of some words: commands, options, their choices, and ids, which the caller asks the service for.
import type { Argument, Command, Option } from 'commander';

export interface Offer {
  value: string;
  description: string;
}

/** The object that the last word names, for which the service is asked. */
export type IdKind = 'session' | 'turn' | 'batch' | 'cron';

/** The offers that need no service, and what to ask it for; null: nothing. */
export interface Completion {
  offers: Offer[];
  idKind: IdKind | null;
}

/** `words`: those after the name of the program; the last one is being typed and may be empty. */
export function completeWords(program: Command, words: readonly string[]): Completion {
  const current = words.at(-1) ?? '';
  const { command, given, option } = follow(program, words.slice(0, -1));
  if (option !== null) return chosen(option.argChoices ?? [], current, chooseIdKind(option.long ?? '', command));
  if (current.startsWith('-'))
    return { offers: matching(listOptions(command).map(offerOfOption), current), idKind: null };
  if (command.commands.length > 0) {
    const commands = command.commands.filter((one) => !one.name().startsWith('_'));
    return {
      offers: matching(
        commands.map((one) => ({ value: one.name(), description: one.description() })),
        current,
      ),
      idKind: null,
    };
  }
  const argument: Argument | undefined = command.registeredArguments[given];
  return chosen(
    argument?.argChoices ?? [],
    current,
    argument === undefined ? null : chooseIdKind(argument.name(), command),
  );
}

/** The command that the words name, how many of its arguments they give, and the option whose value is next. */
function follow(
  program: Command,
  words: readonly string[],
): { command: Command; given: number; option: Option | null } {
  let command = program;
  let given = 0;
  let option: Option | null = null;
  for (const word of words) {
    if (option !== null) option = null;
    else if (word.startsWith('-')) {
      const known = listOptions(command).find(({ long, short }) => word === long || word === short);
      option = known?.required === true ? known : null;
    } else {
      const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
      if (child === undefined) given += 1;
      else command = child;
    }
  }
  return { command, given, option };
}

/** Those of the command and of every command above it. */
function listOptions(command: Command): Option[] {
  const own = command.options.filter(({ hidden }) => !hidden);
  return command.parent === null ? own : [...own, ...listOptions(command.parent)];
}

function offerOfOption({ long, short, description }: Option): Offer {
  return { value: long ?? short ?? '', description };
}

function chosen(choices: readonly string[], current: string, idKind: IdKind | null): Completion {
  const offers = choices.map((value) => ({ value, description: '' }));
  return { offers: matching(offers, current), idKind: offers.length > 0 ? null : idKind };
}

function matching(offers: readonly Offer[], current: string): Offer[] {
  return offers.filter(({ value }) => value.startsWith(current));
}

const WANTED_BY_NOUN: Readonly<Record<string, IdKind>> = { turns: 'turn', batch: 'batch', cron: 'cron' };

function chooseIdKind(name: string, command: Command): IdKind | null {
  if (name === 'session' || name === '--session') return 'session';
  const noun = command.parent?.name() ?? '';
  return name === 'id' || name === noun ? (WANTED_BY_NOUN[noun] ?? null) : null;
}
