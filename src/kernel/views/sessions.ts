// Sessions as the outside sees them. The facts themselves are made by the SQL that accepting uses
// too.
//
// The table of sessions has no index on a column that turns change. So a list reads candidates by
// an index that there is, a bounded number of them, and looks for the rest of the filter in those:
// when it has read that many, a page may have fewer items than its limit, and the next page
// continues where it stopped.
import { join, raw, type Sql, sql } from '../../database/drizzle.ts';
import type { Failure, SessionDetails, SessionFacts } from '../../contract/views.ts';
import { failureStep } from '../../core/failure.ts';
import { isUuid } from '../../core/ids.ts';
import { UNLISTED_KINDS } from '../../core/session-key.ts';
import { whyRetried, type RetriedDelivery } from '../rules/why.ts';
import type { Tags } from '../../core/input-options.ts';
import { isConfinedSql } from '../sessions/confinement.ts';
import { isoSql, sessionFactsSql } from '../sessions/session-facts.ts';
import { describeOpenWait, waitSql, type WaitRow } from './why-sql.ts';
import { beginningSql, INPUT_SQL, PERSON_SQL, sessionNamesSql, sessionTitle, type NamesRow } from './words.ts';
import { lineOf, titleOfWorker, wordsOfInput, type WordedInput } from '../../core/words.ts';
import { EVERYTHING, type Scope } from '../../core/scope.ts';
import { isSeenSql, newestSql } from '../../database/scope-sql.ts';
import { filterRows, findIds, findSessions, type Filtered } from './find-things.ts';
import type { Page, PageRequest, ViewDatabase } from '../../database/page.ts';

const FACTS = sessionFactsSql('s');

/** A session with what changes too often to be in the answer to a message. */
export type LockedSession = Omit<SessionDetails, 'contextWindow' | 'apiQueueMode'>;

/** Both parts of it, from a row of `holdfast.sessions`. */
const LOCKED = raw(`${FACTS} as facts, json_build_object(
    'lock', case when s.owner is not null then json_build_object('holder', s.owner, 'until', ${isoSql('s.lease_expires_at')}) end,
    'isConfined', ${isConfinedSql('s')},
    'tags', coalesce((select i.tags from holdfast.inbox i where i.session_id = s.id order by i.seq desc limit 1), '{}'),
    'failure', (select case when t.status in ('failed', 'timedOut') then json_build_object('turnId', t.id, 'error', t.error, 'since', ${isoSql('t.ended_at')}) end
      from holdfast.turns t where t.session_id = s.id order by t.id desc limit 1)) as rest, ${sessionNamesSql('s')} as names,
  (select json_build_object('first', i.words, 'last', newest.words, 'person', coalesce(newest.person, i.person))
    from (select ${INPUT_SQL} as words, ${PERSON_SQL} as person
      from holdfast.inbox i where i.session_id = s.id order by i.seq limit 1) as i
    cross join (select ${beginningSql(`coalesce(i.reply, t.reply, i.body ->> 'text')`)} as words, ${PERSON_SQL} as person
      from holdfast.inbox i left join holdfast.turns t on t.id = i.turn_id where i.session_id = s.id order by i.seq desc limit 1) as newest) as words`);

interface LockedRow {
  facts: SessionFacts;
  rest: {
    lock: { holder: string; until: string } | null;
    isConfined: boolean;
    tags: Tags;
    failure: { turnId: string; error: { code: string; message: string } | null; since: string } | null;
  };
  names: NamesRow;
  /** Null: it has no messages. */
  words: { first: WordedInput; last: string | null; person: string | null } | null;
}

function toLocked({ facts, rest: { lock, isConfined, tags, failure }, names, words }: LockedRow): LockedSession {
  return {
    ...facts,
    title: sessionTitle(names),
    lock: lock && { ...lock, title: titleOfWorker(lock.holder) },
    isConfined,
    tags,
    failure: failure?.error ? toFailure(failure.error, failure) : null,
    firstWords: words === null ? null : wordsOfInput(words.first),
    lastWords: lineOf(words?.last),
    person: words?.person ?? null,
  };
}

function toFailure(
  { code, message }: { code: string; message: string },
  { turnId, since }: Pick<Failure, 'turnId' | 'since'>,
): Failure {
  return { turnId, code, text: message, since, nextStep: failureStep(code) };
}

/** SQL of when the message arrived that waits longest in the session. */
const OLDEST_SQL = `coalesce((select min(i.received_at) from holdfast.inbox i where i.turn_id = s.turn_id and i.status = 'claimed'),
  (select i.received_at from holdfast.inbox i where i.session_id = s.id and i.status = 'waiting' order by i.seq limit 1), s.updated_at)`;
const IS_OPEN = raw('s.turn_id is not null or s.waiting > 0');
const wait = sql`case when ${IS_OPEN} then ${raw(waitSql('s.id', OLDEST_SQL))} end`;
/** The first of its deliveries, for which the later ones wait. */
const undelivered = sql`case when not (${IS_OPEN}) then (
  select json_build_object('status', d.status, 'lastError', d.last_error, 'attempts', d.attempts, 'createdAt', ${raw(isoSql('d.created_at'))},
    'dueAt', ${raw(isoSql('d.due_at'))}, 'channel', d.channel)
  from holdfast.deliveries d where d.session_id = s.id and d.status in ('pending', 'sending') order by d.seq limit 1) end`;

/** The session of this canonical key, or null. */
export async function viewSession(db: ViewDatabase, key: string): Promise<SessionFacts | null> {
  const { rows } = await db.query<{ facts: SessionFacts }>(
    sql`select ${raw(FACTS)} as facts from holdfast.sessions s where s.key = ${key}`,
  );
  return rows[0]?.facts ?? null;
}

interface WaitingRow extends LockedRow {
  wait: WaitRow | null;
  undelivered: RetriedDelivery | null;
}

/** A session with its lock. */
export async function viewLockedSession(db: ViewDatabase, key: string): Promise<LockedSession | null> {
  const { rows } = await db.query<WaitingRow>(sql`
    select ${LOCKED}, ${wait} as wait, ${undelivered} as undelivered
    from holdfast.sessions s where s.key = ${key}`);
  const [row] = rows;
  if (row === undefined) return null;
  const why = row.undelivered === null ? describeOpenWait(db, row.wait) : whyRetried(row.undelivered);
  return { ...toLocked(row), why };
}

/**
 * The id of the session of this canonical key and the number of its current transcript, or null.
 */
export async function findSession(db: ViewDatabase, key: string): Promise<{ id: string; transcriptNo: number } | null> {
  const { rows } = await db.query<{ id: string; transcriptNo: number }>(
    sql`select s.id, s.transcript_no as "transcriptNo" from holdfast.sessions s where s.key = ${key}`,
  );
  return rows[0] ?? null;
}

export interface SessionFilter {
  scope: Scope;
  agentId?: string | undefined;
  /** Absent: all kinds but `UNLISTED_KINDS`. */
  kinds?: string[] | undefined;
  statuses?: string[] | undefined;
  channel?: string | undefined;
  /** Sessions that got an input with these tags. */
  tags?: Tags | undefined;
  /**
   * An id, a session key, the platform id of a message or an error code; otherwise a part of the
   * session key.
   */
  text?: string | undefined;
}

/** The most messages with some tags whose sessions are found. */
const TAGGED_MAX = 20_000;

/** Sessions, newest first. */
export async function listSessions(
  db: ViewDatabase,
  filter: SessionFilter,
  page: PageRequest,
): Promise<Page<LockedSession>> {
  const { items: ids, next } = await findIds(db, await filterSessions(db, filter), page);
  const { rows } = await db.query<LockedRow>(
    sql`select ${LOCKED} from holdfast.sessions s where s.id = any (${ids}::uuid[]) order by s.id desc`,
  );
  return { items: rows.map(toLocked), next };
}

/** The sessions that a filter finds. */
export async function filterSessions(db: ViewDatabase, filter: SessionFilter): Promise<Filtered> {
  const { text, scope } = filter;
  const named = text === undefined ? null : await findSessions(db, text, scope);
  const ids = buildCandidates(filter, named);
  return filterRows('sessions', scope, {
    few: ids === null ? [] : [sql`s.id = any (array(${ids}))`],
    ordered: showsAll(filter, named) ? undefined : { either: [USUAL], all: USUAL },
    rest: buildRest(filter, named),
  });
}

/**
 * How many of the newest sessions, and sessions of the newest turns, are put in the order of their
 * last changes.
 */
const UPDATED_MAX = 5_000;

const UPDATED_AFTER = /^(\d{1,17})\/(.*)$/;

/** True for the key of a page of `listUpdatedSessions`. */
export function isUpdatedKey(text: string): boolean {
  const [, , id] = UPDATED_AFTER.exec(text) ?? [];
  return id !== undefined && isUuid(id);
}

/**
 * Sessions, last changed first. A session that has neither been made nor had a turn lately is not
 * among them.
 */
export async function listUpdatedSessions(
  db: ViewDatabase,
  filter: SessionFilter,
  page: PageRequest,
): Promise<Page<LockedSession>> {
  const { rows } = await db.query<LockedRow & { key: string }>(await updatedQuery(db, filter, page));
  const shown = rows.slice(0, page.limit);
  const items = shown.map(toLocked);
  return { items, next: rows.length > page.limit ? (shown.at(-1)?.key ?? null) : null };
}

/** SQL of a page of them. */
export async function updatedQuery(db: ViewDatabase, filter: SessionFilter, page: PageRequest): Promise<Sql> {
  const { text, scope } = filter;
  const named = text === undefined ? null : await findSessions(db, text, scope);
  const kept = showsAll(filter, named) ? sql`true` : USUAL;
  const ids =
    buildCandidates(filter, named) ??
    (scope === EVERYTHING
      ? sql`(select id from holdfast.sessions s where ${kept} order by id desc limit ${UPDATED_MAX})
      union (select session_id from holdfast.turns order by id desc limit ${UPDATED_MAX})
      union select session_id from holdfast.doorbells`
      : join(
          ['sessions', 'turns', 'inbox'].map((table) => {
            const column = raw(table === 'sessions' ? 'id' : 'session_id');
            return sql`select ${column} from (${newestSql(scope, table, UPDATED_MAX)}) as newest`;
          }),
          ' union ',
        ));
  const micros = sql`(extract(epoch from s.updated_at) * 1000000)::bigint`;
  const conditions = [kept, isSeenSql(scope, 's.scope'), ...buildRest(filter, named)];
  const [, at, id] = page.after === null ? [] : (UPDATED_AFTER.exec(page.after) ?? []);
  if (at !== undefined) conditions.push(sql`(${micros}, s.id) < (${at}::bigint, ${id}::uuid)`);
  return sql`select ${LOCKED}, s.micros || '/' || s.id as key from (
      select s.*, ${micros} as micros from (${ids}) as c (id)
      cross join lateral (select * from holdfast.sessions where id = c.id limit 1) as s
      where ${join(conditions, ' and ')} order by micros desc, s.id desc limit ${page.limit + 1}
    ) as s order by s.micros desc, s.id desc`;
}

/** SQL of the few sessions that may fit; null: any may. */
function buildCandidates({ statuses, tags, scope }: SessionFilter, named: string[] | null): Sql | null {
  if (named !== null && named.length > 0) return sql`select unnest(${named}::uuid[])`;
  if (tags !== undefined) {
    return sql`select distinct session_id from (select i.session_id from holdfast.inbox i
      where i.tags @> ${JSON.stringify(tags)}::jsonb and ${isSeenSql(scope, 'i.scope')} order by i.id desc limit ${TAGGED_MAX}) as tagged`;
  }
  if (statuses === undefined || statuses.includes('idle')) return null;
  // A session with waiting messages has a row of doorbells, unless its turn is parked until an
  // event.
  return sql`select session_id from holdfast.doorbells union select session_id from holdfast.turns where ended_at is null`;
}

/**
 * What a list has that names no kinds. The index `sessions_listed` leaves out those of batches, of
 * which there may be very many.
 */
const USUAL = join(
  UNLISTED_KINDS.map((kind) => sql`s.kind <> ${raw(`'${kind}'`)}`),
  ' and ',
);

/** False: sessions of `UNLISTED_KINDS` are left out. */
function showsAll({ kinds }: SessionFilter, named: string[] | null): boolean {
  return kinds === undefined ? named !== null && named.length > 0 : UNLISTED_KINDS.some((kind) => kinds.includes(kind));
}

function buildRest({ agentId, kinds, statuses, channel, tags, text }: SessionFilter, named: string[] | null): Sql[] {
  const conditions: Sql[] = [];
  if (kinds !== undefined) conditions.push(sql`s.kind = any (${kinds}::text[])`);
  if (agentId !== undefined) conditions.push(sql`s.agent_id = ${agentId}`);
  if (channel !== undefined) conditions.push(sql`s.channel = ${channel}`);
  if (statuses !== undefined) conditions.push(sql`${raw(FACTS)} ->> 'status' = any (${statuses}::text[])`);
  if (tags !== undefined) {
    conditions.push(
      sql`exists (select from holdfast.inbox i where i.session_id = s.id and i.tags @> ${JSON.stringify(tags)}::jsonb)`,
    );
  }
  if (text !== undefined && named?.length === 0)
    conditions.push(isUuid(text) ? sql`false` : sql`strpos(s.key, lower(${text}::text)) > 0`);
  return conditions;
}
