// How the messages of a turn ended, returned by the statement that ends it, for requests in the same process that wait for them:
// they need no query of their own. A part of `finish-turn`.
//
// A statement sees in the tables what was there when it began. What it writes itself is taken from what its writes return. And when
// it had to wait for the session's row, other statements may have written rows that it cannot see: then it returns nothing, as it
// does when the turn had already ended. The waiting request then queries.
import { CALL_COLUMNS, callsSql, MESSAGE_SQL, TOOL_COLUMNS, toolsSql, TURN_SQL } from '../settlement-sql.ts';
import type { Values } from '../statement.ts';
import type { MessageView } from '../views/messages.ts';
import { turnOf, type SettlementView, type TurnRow } from '../views/settlements.ts';
import type { TurnEnd } from './turn-end.ts';
import { storedSteps } from './write-parts.ts';

/** How messages ended, by their ids. */
export type Settlements = ReadonlyMap<string, SettlementView>;

/** What the column holds. */
export interface SettledTurnRow extends TurnRow {
  messages: MessageView[] | null;
}

/**
 * The column `told_turn` of the statement's answer. Of `ended` and `settled` it needs whole rows; and `journalParts` made to return what
 * they write.
 */
export function settledTurnSql(values: Values, ends: TurnEnd[]): string {
  const { calls, tools } = storedSteps(ends);
  const awaited = ends.flatMap(({ isAwaited }, index) => (isAwaited ? [index + 1] : []));
  return `, case when head.n = any (${values.array('bigint', awaited, (n) => n)}) then (
    select json_build_object('turn', ${TURN_SQL},
      'messages', (select json_agg(${MESSAGE_SQL} order by i.seq) from settled i where i.turn_id = t.id),
      'calls', ${callsSql(withStored('holdfast.model_calls', CALL_COLUMNS, calls))},
      'tools', ${toolsSql(withStored('holdfast.tool_calls', TOOL_COLUMNS, tools, tools.map(unlessIn).join(' ')))})
    from ended t join holdfast.sessions s on s.id = t.session_id and s.xmin = t.version
    where t.id = head.turn_id
  ) end as told_turn`;
}

/** How the messages of the turn ended; empty when no request waits or the statement could not know. */
export function settlementsOf(told: SettledTurnRow | null | undefined): Settlements {
  if (told === null || told === undefined || told.messages === null) return new Map();
  const turn = turnOf(told);
  return new Map(told.messages.map((message) => [message.id, { message, turn }]));
}

/** The rows of a table of steps of the turn `t` as the statement leaves them; `stored` are its CTEs that return what they write there. */
function withStored(table: string, columns: readonly string[], stored: readonly string[], replaced = ''): string {
  if (stored.length === 0) return table;
  const list = columns.join(', ');
  const written = stored.map((name) => `union all select ${list} from ${name}`).join(' ');
  return `(select ${list} from ${table} before where before.turn_id = t.id ${replaced} ${written})`;
}

/** Leaves out the tool calls that were there before and that the statement has changed. */
function unlessIn(name: string): string {
  return `and not exists (select from ${name} w where w.turn_id = t.id and w.step = before.step and w.ordinal = before.ordinal)`;
}
