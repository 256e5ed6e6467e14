// The command that the shell's completion calls: prints a line for each offer, the value and its description with a tab between them. On any error it
// prints nothing: a person is typing.
import type { Command } from 'commander';
import { connectApi, type ApiClient, type ClientFlags } from '../api-client.ts';
import { completeWords, type Offer, type IdKind } from '../complete-words.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { Terminal } from '../terminal.ts';

/** How long a person who typed a tab is kept waiting for the service. */
const ASK_MS_MAX = 200;
const OFFERS_MAX = 50;

/** Prints the offers for the last of the words. */
export async function runComplete(
  { program, words }: { program: Command; words: readonly string[] },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const { offers, idKind } = completeWords(program, words);
  const current = words.at(-1) ?? '';
  const found = idKind === null ? [] : await ask(idKind, flags);
  for (const { value, description } of [...offers, ...found.filter(({ value }) => value.startsWith(current))])
    terminal.print(`${oneLine(value)}\t${oneLine(description)}`);
  return EXIT.ok;
}

async function ask(idKind: IdKind, flags: ClientFlags): Promise<Offer[]> {
  try {
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
