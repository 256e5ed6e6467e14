// Asks Discord what was written while no session could be resumed.
import { Routes, type APIChannel, type APIMessage } from 'discord-api-types/v10';
import type { Received } from '../platform.ts';
import { GAP, patiently, startOfGap } from './gap.ts';
import { idAt, type DiscordReader } from './discord-events.ts';
import { nullIfRefused, type AskDiscord } from './discord-wire.ts';

const PAGE = 100;

interface Gap {
  /** The last that is known, in epoch milliseconds. */
  at: number;
  /** Direct chats: Discord does not list them. */
  direct: readonly string[];
  signal: AbortSignal;
}

type Get = <Result>(route: `/${string}`, query?: Record<string, string>) => Promise<Result>;

/** What was written since a time, in the order of each chat. */
export async function* readMissed(
  ask: AskDiscord,
  { readMessage }: Pick<DiscordReader, 'readMessage'>,
  { at, direct, signal }: Gap,
): AsyncGenerator<Received[]> {
  const since = idAt(startOfGap(at));
  const get: Get = (route, query = {}) =>
    patiently(signal, () => ask('GET', route, { signal, query: new URLSearchParams(query) }));
  const chats: { id: string; guild?: string }[] = direct.map((id) => ({ id }));
  for (const { id: guild } of await get<{ id: string }[]>(Routes.userGuilds())) {
    const channels = await get<APIChannel[]>(Routes.guildChannels(guild));
    const { threads } = await get<{ threads: APIChannel[] }>(Routes.guildActiveThreads(guild));
    for (const channel of [...channels, ...threads])
      if ('last_message_id' in channel && BigInt(channel.last_message_id ?? 0) > BigInt(since))
        chats.push({ id: channel.id, guild });
  }
  for (const { id, guild } of chats.slice(0, GAP.chatsMax)) {
    const received: Received[][] = [];
    for (const message of await readSince(id, since, get))
      received.push(await patiently(signal, () => readMessage(message, guild, signal)));
    yield received.flat();
  }
}

/** Read newest first, so that what is beyond the bound is the oldest; answered oldest first. */
async function readSince(id: string, since: string, get: Get): Promise<APIMessage[]> {
  const found: APIMessage[] = [];
  for (let before: string | undefined; found.length < GAP.messagesMax; before = found.at(-1)?.id) {
    const query = { limit: String(PAGE), ...(before === undefined ? {} : { before }) };
    const page = (await nullIfRefused(get<APIMessage[]>(Routes.channelMessages(id), query))) ?? [];
    const recent = page.filter((message) => BigInt(message.id) > BigInt(since));
    found.push(...recent);
    if (recent.length < PAGE) break;
  }
  return found.toReversed();
}
