// Events: what happened, for clients that watch. The statement that an event describes writes it,
// never a commit of its own, except for text deltas, which are batched briefly. An id is the number
// of the transaction, with an offset (event-ids.ts), and a position in it, so there is one insert
// of events per statement. A transaction may have two such statements.
import type { EventType } from '../../contract/events.ts';
import { EVENT_XID_SQL } from '../../database/event-ids.ts';
import { cte, type Cte } from '../../database/statement.ts';

/** An event to be written; `data` is stored as it is. */
export interface NewEvent {
  type: EventType;
  data: Record<string, unknown>;
}

/** Where the ids of the second insert of events begin, in a transaction that has two of them. */
const LATER = 1 << 15;

/**
 * SQL of a CTE body that inserts events. Each source is a select of session_id, turn_id, type, data
 * (json) and n; its events follow those of the sources before it, and among themselves they are
 * ordered by n.
 */
export function insertEventsSql(...sources: [string, ...string[]]): string {
  return insertSql(sources);
}

/** A second insert of events in a statement or a transaction. */
export function insertLaterEventsSql(...sources: [string, ...string[]]): string {
  return insertSql(sources, { after: LATER });
}

/** `more`: a further column, which the sources have. */
function insertSql(
  sources: readonly string[],
  { after = 0, more = '' }: { after?: number; more?: string } = {},
): string {
  const phases = sources.map((source, index) => `select ${index + 1} as phase, source.* from (${source}) as source`);
  return `insert into holdfast.events (id, session_id, turn_id, type, data${more})
    select (${EVENT_XID_SQL} << 16)${after === 0 ? '' : ` + ${after}`} + row_number() over (order by phase, n), session_id, turn_id, type, data${more}
    from (${phases.join('\n    union all ')}) as happened`;
}

/**
 * The same for events that concern no session, one for each row of `rows`; `data` is SQL of the
 * fields of a JSON object.
 */
export const insertServiceEventsSql = (rows: string, type: EventType, data: string, n = '0'): string =>
  insertEventsSql(`select null::uuid as session_id, null::uuid as turn_id, '${type}' as type,
      json_build_object(${data}) as data, ${n} as n from ${rows}`);

/** The absent form of a CTE with events. */
export const noEventsSql = (name: string): string =>
  `${name} as (select null::uuid as session_id, null::uuid as turn_id, null::text as type, null::json as data, 0 as n, null::integer as scope where false)`;

/**
 * A CTE `inserted_events` from CTEs with events, in the order in which these happened. They have a
 * column `scope`, too, from the session as the statement has locked it (label-rows.ts): a trigger
 * that looks for it takes as long as the insert of the row.
 */
export function insertedEvents(first: string, ...others: string[]): Cte {
  return insertedFrom([first, ...others], { more: ', scope' });
}

/**
 * The same for the last statement of a transaction in which another one may have written events.
 * They have no column `scope`.
 */
export function insertedLaterEvents(...names: string[]): Cte {
  return insertedFrom(names, { after: LATER });
}

function insertedFrom(names: readonly string[], options: { after?: number; more?: string }): Cte {
  const sources = names.map((name) => `select session_id, turn_id, type, data, n${options.more ?? ''} from ${name}`);
  return cte(`inserted_events as (\n  ${insertSql(sources, options)}\n)`);
}
