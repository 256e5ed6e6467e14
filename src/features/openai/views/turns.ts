// Turns as the OpenAI-compatible endpoints see them: the calls that a client has to run, and what a
// session has said.
import { sql } from '../../../database/drizzle.ts';
import { joinText, listToolUses, type ContentBlock } from '../../../core/content.ts';
import type { CallerNames, CallerRequest } from '../../../core/input-options.ts';
import { callerCallId } from '../../../core/client-ids.ts';
import type { StoredHistory } from '../rules/history.ts';
import { BETWEEN, type WantedCall } from '../rules/segment.ts';
import { ERASING } from '../../../core/session-key.ts';
import type { KeyedRequest } from '../../../database/idempotency.ts';
import type { ViewDatabase } from '../../../database/page.ts';

/** A message of a client and the turn that has claimed it. */
export interface ClientTurn {
  sessionId: string;
  sessionKey: string;
  messageId: string;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  status: string;
  caller: CallerRequest | null;
  /**
   * True when its answer is checked against a schema, and may be corrected before it is the reply.
   */
  isChecked: boolean;
  /** Null: no turn has claimed the message. */
  turn: { id: string; startedAt: Date; isEnded: boolean; model: string } | null;
  /** Null: it is not answered. */
  reply: string | null;
  error: { code?: string; message?: string } | null;
}

/** By the id of the message, or by that of the turn; null: it does not exist. */
export async function findClientTurn(
  db: ViewDatabase,
  by: { messageId: string } | { turnId: string },
): Promise<ClientTurn | null> {
  const wanted =
    'messageId' in by ? sql`i.id = ${by.messageId}` : sql`i.turn_id = ${by.turnId} and i.body -> 'caller' is not null`;
  const { rows } = await db.query<ClientTurnRow>(sql`
    select i.id as "messageId", i.session_id as "sessionId", s.key as "sessionKey", i.status, i.body -> 'caller' as caller,
      i.body -> 'options' -> 'responseFormat' is not null as "isChecked",
      (extract(epoch from i.received_at) * 1000)::float8 as "receivedAt", t.id as "turnId", t.started_at as "startedAt",
      t.ended_at is not null as "isEnded", t.model, coalesce(i.reply, t.reply) as reply, coalesce(i.error, t.error) as error
    from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id left join holdfast.turns t on t.id = i.turn_id
    where ${wanted} and not starts_with(s.key, ${ERASING}) order by i.seq limit 1`);
  const [row] = rows;
  if (row === undefined) return null;
  const { turnId, startedAt, isEnded, model, ...rest } = row;
  const turn = turnId === null || startedAt === null ? null : { id: turnId, startedAt, isEnded, model: model ?? '' };
  return { ...rest, turn };
}

/**
 * The message that a request with this key has stored; null: there is none. `isEqual`: false when
 * that request had another body.
 */
export async function findKeyedMessage(
  db: ViewDatabase,
  keyed: KeyedRequest,
): Promise<{ messageId: string; isEqual: boolean } | null> {
  const { rows } = await db.query<{ messageId: string; isEqual: boolean }>(sql`
    select k.resource_id as "messageId", k.request_sha256 = ${keyed.sha256} as "isEqual"
    from holdfast.idempotency_keys k where k.scope = ${keyed.scope} and k.key = ${keyed.key}`);
  return rows[0] ?? null;
}

/** A name by which the requests of one API key reach a session. */
export interface OwnName {
  kind: 'user' | 'conversation';
  agentId: string;
  /** Whose request it is, see `Principal.owner`. */
  owner: string;
  nameSha: string;
}

/**
 * The key of the session that an earlier version made for this name, if every message in it came
 * from this caller; otherwise null.
 */
export async function findEarlierSession(db: ViewDatabase, name: OwnName): Promise<string | null> {
  const { rows } = await db.query<{ key: string }>(sql`
    select s.key from holdfast.client_sessions c join holdfast.sessions s on s.id = c.session_id
    where c.kind = ${name.kind} and c.agent_id = ${name.agentId} and c.owner = ${name.owner} and c.name_sha = ${name.nameSha}
      and not starts_with(s.key, ${ERASING})`);
  return rows[0]?.key ?? null;
}

interface ClientTurnRow extends Omit<ClientTurn, 'turn'> {
  turnId: string | null;
  startedAt: Date | null;
  isEnded: boolean;
  model: string | null;
}

/**
 * The places of the calls of a step that the client has to run; empty: the step has none, or there
 * is no such step.
 */
export async function readCallerCalls(
  db: ViewDatabase,
  { turnId, step }: { turnId: string; step: number },
): Promise<number[]> {
  const { rows } = await db.query<{ ordinal: number }>(sql`
    select c.ordinal from holdfast.tool_calls c
    where c.turn_id = ${turnId} and c.step = ${step} and c.held_for = 'caller' order by c.ordinal`);
  return rows.map(({ ordinal }) => ordinal);
}

/**
 * What a turn has said and called for one request of its client, after a step and until it waited
 * for the client again, or ended.
 */
export async function readOutput(
  db: ViewDatabase,
  { turn, sessionId, isChecked, reply }: ClientTurn,
  afterStep: number,
): Promise<{ text: string; calls: WantedCall[] }> {
  if (turn === null) return { text: '', calls: [] };
  const { id: turnId } = turn;
  const called = await db.query<{ step: number; ordinal: number; callId: string; name: string }>(sql`
    select c.step, c.ordinal, c.call_id as "callId", c.name from holdfast.tool_calls c
    where c.turn_id = ${turnId} and c.held_for = 'caller'
      and c.step = (select min(o.step) from holdfast.tool_calls o where o.turn_id = ${turnId} and o.held_for = 'caller' and o.step > ${afterStep})
    order by c.ordinal`);
  const calls = called.rows.map((call) => ({ ...call, turnId, id: callerCallId({ ...call, turnId }) }));
  if (isChecked && calls.length === 0) return { text: reply ?? '', calls };
  const { rows } = await db.query<{ content: ContentBlock[] }>(sql`
    select e.content from holdfast.entries e
    where e.session_id = ${sessionId} and e.turn_id = ${turnId} and e.kind = 'answer' order by e.seq`);
  const texts = rows.slice(afterStep, calls[0]?.step).map(({ content }) => joinText(content));
  return { text: texts.filter((text) => text !== '').join(BETWEEN), calls };
}

/**
 * The arguments of calls of a turn, by the ids that the model gave them, and the names of the
 * client's tools for the model.
 */
export async function readCalls(
  db: ViewDatabase,
  { sessionId, turnId }: { sessionId: string; turnId: string },
): Promise<{ inputs: Map<string, unknown>; names: CallerNames }> {
  const { rows } = await db.query<{ content: ContentBlock[]; names: CallerNames | null }>(sql`
    select e.content, t.view -> 'callerNames' as names from holdfast.entries e join holdfast.turns t on t.id = e.turn_id
    where e.session_id = ${sessionId} and e.turn_id = ${turnId} and e.kind = 'answer' order by e.seq`);
  const calls = rows.flatMap(({ content }) => listToolUses(content));
  return { inputs: new Map(calls.map((call) => [call.id, call.input])), names: rows[0]?.names ?? [] };
}

/** How many chats of a user with the same first words are compared with a history. */
const CHATS_MAX = 16;

/**
 * The keys of the chats of a user that wait for nothing, the last changed first: of those that
 * begin with a prefix, and of the one that has them all.
 */
export async function findChats(
  db: ViewDatabase,
  { prefix, whole }: { prefix: string; whole: string },
): Promise<string[]> {
  const { rows } = await db.query<{ key: string }>(sql`
    select s.key from holdfast.sessions s
    where s.waiting = 0 and s.turn_id is null and (s.key = ${whole}
      or s.key like 'agent:%:openai:user@%' and s.key collate "C" >= ${prefix} and s.key collate "C" < ${`${prefix}~`})
    order by s.updated_at desc limit ${CHATS_MAX}`);
  return rows.map(({ key }) => key);
}

/** The maximum number of entries that are compared with those of a client. */
const SAID_MAX = 2_000;

/** The texts of a session's active path, oldest first; of a prompt, the text of its sender. */
export async function readSaid(db: ViewDatabase, sessionKey: string): Promise<StoredHistory> {
  const { rows } = await db.query<
    Omit<StoredHistory['entries'][number], 'texts'> & {
      [column: string]: unknown;
      content: ContentBlock[];
      body: string | null;
    }
  >(sql`
    select e.id, e.role, e.kind, e.content,
      (select part ->> 'text' from json_array_elements(e.parts) as part where part ->> 'name' = 'clean-body' limit 1) as body
    from holdfast.sessions s join holdfast.entries e on e.session_id = s.id
    where s.key = ${sessionKey} and e.state = 'active' and e.transcript_no = s.transcript_no and e.kind in ('prompt', 'steer', 'answer', 'summary')
    order by e.seq desc limit ${SAID_MAX}`);
  const said = rows.toReversed().filter(({ kind }) => kind !== 'summary');
  return {
    isWhole: said.length === rows.length && rows.length < SAID_MAX,
    entries: said.map(({ content, body, ...entry }) => ({
      ...entry,
      texts: body === null ? content.flatMap((block) => (block.type === 'text' ? [block.text] : [])) : [body],
    })),
  };
}

/** True for a response that its client has deleted. */
export async function isHiddenResponse(
  db: ViewDatabase,
  response: { messageId: string; afterStep: number },
): Promise<boolean> {
  const { rows } = await db.query<{ isHidden: boolean }>(sql`
    select exists (select from holdfast.hidden_responses h
      where h.message_id = ${response.messageId} and h.after_step = ${response.afterStep}) as "isHidden"`);
  return rows[0]?.isHidden === true;
}

/**
 * Whether a message is the newest of its session, and the last entry of its turn; null: it has none
 * on the active path.
 */
export async function readNewest(
  db: ViewDatabase,
  { sessionId, messageId, turn }: Pick<ClientTurn, 'sessionId' | 'messageId' | 'turn'>,
): Promise<{ isNewest: boolean; lastEntryId: string | null }> {
  const { rows } = await db.query<{ isNewest: boolean; lastEntryId: string | null }>(sql`
    select not exists (select from holdfast.inbox i join holdfast.inbox own on own.id = ${messageId}
        where i.session_id = ${sessionId} and i.seq > own.seq) as "isNewest",
      (select e.id from holdfast.entries e where e.session_id = ${sessionId} and e.turn_id = ${turn?.id ?? null} and e.state = 'active'
        order by e.seq desc limit 1) as "lastEntryId"`);
  return rows[0] ?? { isNewest: true, lastEntryId: null };
}
