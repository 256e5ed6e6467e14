// What was received from chat platforms, as it is stored.
import type { Store } from './table.ts';

async function send<Row>(store: Store, sql: string, values: unknown[] = []): Promise<Row[]> {
  const found = 'rows' in store ? await store.rows(sql, values) : (await store.query(sql, values)).rows;
  return found as Row[];
}

interface StoredBody extends Record<string, unknown> {
  text: string;
  messageId: string;
}

/** The bodies of the messages of a session of the agent main, in its order. */
export async function readBodies(store: Store, session: string): Promise<StoredBody[]> {
  const sql = `select i.body from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id where s.key = $1 order by i.seq`;
  return (await send<{ body: StoredBody }>(store, sql, [`agent:main:${session}`])).map(({ body }) => body);
}

/**
 * The texts of all messages by the chat that they were written in, in the order of their sessions.
 */
export function readChats(store: Store): Promise<{ chat: string; texts: string[] }[]> {
  const sql = `select i.body ->> 'chatId' as chat, array_agg(i.body ->> 'text' order by i.seq) as texts from holdfast.inbox i where i.kind = 'message' group by 1`;
  return send(store, sql);
}

/** The texts of the system events of a session. */
export async function readEventTexts(store: Store, session: string): Promise<string[]> {
  const sql = `select e.text from holdfast.system_events e join holdfast.sessions s on s.id = e.session_id where s.key = $1 order by e.id`;
  return (await send<{ text: string }>(store, sql, [`agent:main:${session}`])).map(({ text }) => text);
}

/** How many sessions and messages of context there are of a chat. */
export async function countOfChat(store: Store, chatId: string): Promise<number> {
  const sql = `select (select count(*) from holdfast.sessions where key like '%' || $1 || '%')::int
  + (select count(*) from holdfast.channel_context where chat_id = $1)::int as n`;
  return (await send<{ n: number }>(store, sql, [chatId]))[0]!.n;
}

interface StoredAccount {
  owner: string | null;
  epoch: string;
  bot_id: string | null;
  isLeft: boolean;
}

/** The account main of the channel telegram. */
export async function readTelegram(store: Store): Promise<StoredAccount> {
  const sql = `select owner, epoch::text, bot_id, owner is null or lease_expires_at < clock_timestamp() as "isLeft"
from holdfast.channel_accounts where channel = 'telegram' and account = 'main'`;
  return (await send<StoredAccount>(store, sql))[0]!;
}

export async function pauseTelegram(store: Store, isPaused: boolean): Promise<void> {
  const sql = `insert into holdfast.channel_accounts (channel, account, is_paused) values ('telegram', 'main', $1)
on conflict (channel, account) do update set is_paused = excluded.is_paused`;
  await send(store, sql, [isPaused]);
}

/** The texts that are in the outbox to a chat, oldest first. */
export async function readReplies(store: Store, url: string): Promise<string[]> {
  const sql = `select payload ->> 'text' as text from holdfast.deliveries where target ->> 'url' = $1 order by seq`;
  return (await send<{ text: string }>(store, sql, [url])).map(({ text }) => text);
}

/** The data of the events of a type. */
export async function readEventData(store: Store, type: string): Promise<unknown[]> {
  const sql = `select data from holdfast.events where type = $1 order by id`;
  return (await send<{ data: unknown }>(store, sql, [type])).map(({ data }) => data);
}

/** The texts of the messages of a person, in the order of their sessions. */
export async function readTextsOf(store: Store, senderId: string): Promise<string[]> {
  const sql = `select body ->> 'text' as text from holdfast.inbox where body -> 'sender' ->> 'id' = $1 order by session_id, seq`;
  return (await send<{ text: string }>(store, sql, [senderId])).map(({ text }) => text);
}

/**
 * How many deliveries there are to chats of an account, given as `channel:telegram/main`, sessions
 * whose keys begin with `sessions`, and model calls.
 */
export async function countOfCrowd(store: Store, { account, sessions }: { account: string; sessions: string }) {
  const sql = `select (select count(*)::int from holdfast.deliveries where target ->> 'url' like $1 || '/%') as notices,
  (select count(*)::int from holdfast.sessions where key like $2 || '%') as sessions,
  (select count(*)::int from holdfast.model_calls) as "modelCalls"`;
  return (await send<{ notices: number; sessions: number; modelCalls: number }>(store, sql, [account, sessions]))[0]!;
}

/** The senders in the events of a pairing. */
export async function readSendersOfEvents(store: Store, pairingId: string): Promise<string[]> {
  const sql = `select data ->> 'senderId' as sender from holdfast.events where type = 'pairing.requested' and data ->> 'pairingId' = $1`;
  return (await send<{ sender: string }>(store, sql, [pairingId])).map(({ sender }) => sender);
}

/** Makes `hasTexts` quick where there are many messages. */
export async function indexTexts(store: Store): Promise<void> {
  await send(store, `create index texts_of_inbox on holdfast.inbox ((body ->> 'text'))`);
}

/** Of these texts those that no message has. */
export async function absentTexts(store: Store, texts: readonly string[]): Promise<string[]> {
  const sql = `select text from unnest($1::text[]) as text where not exists (select from holdfast.inbox where body ->> 'text' = text)`;
  return (await send<{ text: string }>(store, sql, [texts])).map(({ text }) => text);
}

/** The texts of all messages by session, in the order of their sessions. */
export async function readTextsBySession(store: Store): Promise<string[][]> {
  const sql = `select array_agg(body ->> 'text' order by seq) as texts from holdfast.inbox where kind = 'message' group by session_id`;
  return (await send<{ texts: string[] }>(store, sql)).map(({ texts }) => texts);
}
