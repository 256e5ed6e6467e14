// `holdfast completion`: the script by which a shell completes commands, options and ids. It calls
// `holdfast __complete` for each of them, which prints a line for each offer, the value and its
// description with a tab between them, and nothing on any error: a person is typing.
import type { ApiClient, ClientFlags } from '../api-client.ts';
import { localCommand, type Words } from '../command.ts';
import type { Argument, Command, Option } from 'commander';

// Words are separated by spaces here, not by what bash takes for a separator: keys of sessions have
// colons.
const BASH = `# Completion of holdfast for bash: source <(holdfast completion bash)
_holdfast() {
  local line="\${COMP_LINE:0:COMP_POINT}"
  local -a words
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  local current="\${words[\${#words[@]} - 1]}"
  local IFS=$'\\n'
  COMPREPLY=($("\${words[0]}" __complete -- "\${words[@]:1}" 2>/dev/null | cut -f1))
  # bash replaces what follows the last colon.
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    COMPREPLY=("\${COMPREPLY[@]#"\${current%"\${current##*:}"}"}")
  fi
}
complete -o default -F _holdfast holdfast
`;

const ZSH = `#compdef holdfast
# Completion of holdfast for zsh: source <(holdfast completion zsh)
_holdfast() {
  local line
  local -a offers
  for line in "\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && offers+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( \${#offers} )) && _describe holdfast offers || _files
}
compdef _holdfast holdfast
`;

const FISH = `# Completion of holdfast for fish: holdfast completion fish | source
complete -c holdfast -f -a '(holdfast __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`;

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH };

/** How long a person who typed a tab is kept waiting for the service. */
const ASK_MS_MAX = 200;
const OFFERS_MAX = 50;

export const words: Words = {
  completion: localCommand({
    takes: { shell: ['<shell>', 'your shell', ['bash', 'zsh', 'fish']] },
    run: async ({ shell }, { terminal }) => terminal.write(SCRIPTS[shell]),
  }),
  __complete: localCommand({
    takes: { typed: ['[words...]'] },
    async run({ typed = [] }, { terminal, flags, program }) {
      const { offers, idKind } = completeWords(program, typed);
      const found = idKind === null ? [] : await ask(idKind, flags);
      const current = typed.at(-1) ?? '';
      for (const { value, description } of [...offers, ...found.filter(({ value }) => value.startsWith(current))])
        terminal.print(`${oneLine(value)}\t${oneLine(description)}`);
    },
  }),
};

async function ask(idKind: IdKind, flags: ClientFlags): Promise<Offer[]> {
  try {
    const { connectApi } = await import('../api-client.ts');
    return await ASK[idKind](connectApi(flags), AbortSignal.timeout(ASK_MS_MAX));
  } catch {
    return [];
  }
}

const ASK: Record<IdKind, (api: ApiClient, signal: AbortSignal) => Promise<Offer[]>> = {
  async session(api, signal) {
    const { items } = await api.listSessions({ limit: OFFERS_MAX }, { signal });
    // Without the prefix of the agent that keys without a prefix belong to.
    return items.flatMap(({ key, label, status }) =>
      [key, key.replace(/^agent:main:/, '')].map((value) => ({ value, description: label ?? status })),
    );
  },
  async turn(api, signal) {
    const { items } = await api.listTurns({ limit: OFFERS_MAX, steps: 'none' }, { signal });
    return items.map(({ id, status, sessionKey }) => ({ value: id, description: `${status} in ${sessionKey}` }));
  },
  async batch(api, signal) {
    const { items } = await api.listBatches({ limit: OFFERS_MAX }, { signal });
    return items.map(({ id, name, status }) => ({ value: id, description: `${name ?? ''} ${status}`.trim() }));
  },
  async cron(api, signal) {
    const { items } = await api.listCrons({ limit: OFFERS_MAX }, { signal });
    return items.map(({ id, name }) => ({ value: id, description: name }));
  },
};

function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ');
}

// What a shell may offer for the last of some words: commands, options, their choices, and ids,
// which the caller asks the service for.

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

/**
 * The command that the words name, how many of its arguments they give, and the option whose value
 * is next.
 */
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

/** The options of the command and of every command above it. */
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
