// How the messages of a turn ended, returned by the statement that ends it, for requests in the same process that wait for them:
// they need no query of their own. A part of `finish-turn`.
//
// A statement sees in the tables what was there when it began. What it writes itself is taken from what its writes return. And when
// it had to wait for the session's row, other statements may have written rows that it cannot see: then it returns nothing, as it
// does when the turn had already ended. The waiting request then queries.
import type { MessageView } from '../../../contract/views.ts';
import { CALL_COLUMNS, callsSql, messageSql, TOOL_COLUMNS, toolsSql, turnSql } from '../../views/settlement-sql.ts';
import { cte, optional } from '../../../database/statement.ts';
import { toTurnView, type SettlementView } from '../../views/settlements.ts';
import type { TurnRow } from '../../views/turn-steps.ts';
import type { TurnEnd } from './turn-end.ts';

/** The ends of messages, by their ids. */
export type Settlements = ReadonlyMap<string, SettlementView>;

/** The value of the column. */
export interface SettledTurnRow extends TurnRow {
  messages: MessageView[] | null;
}

// The rows of the turn `t` as the statement leaves them: those that were there before, and those that its CTEs return.
const CALLS_SQL = `(select ${CALL_COLUMNS.join(', ')} from holdfast.model_calls before where before.turn_id = t.id
      union all select ${CALL_COLUMNS.join(', ')} from stored_calls)`;

const isReplacedSql = (name: string): string =>
  `exists (select from ${name} w where w.turn_id = t.id and w.step = before.step and w.ordinal = before.ordinal)`;

const TOOLS_SQL = `(select ${TOOL_COLUMNS.join(', ')} from holdfast.tool_calls before where before.turn_id = t.id
        and not ${isReplacedSql('stored_intents')} and not ${isReplacedSql('settled_calls')}
      union all select ${TOOL_COLUMNS.join(', ')} from stored_intents union all select ${TOOL_COLUMNS.join(', ')} from settled_calls)`;

/** `settled_turns` (n, turn): the ended turns that requests of this process wait for. */
export const settledTurns = optional('awaited', (ends: readonly TurnEnd[]) => ends.some((end) => end.isAwaited))(
  cte(
    `settled_turns as materialized (
  select tail.n, json_build_object('turn', ${turnSql()},
      'messages', (select json_agg(${messageSql()} order by i.seq) from settled i where i.turn_id = t.id),
      'calls', ${callsSql(CALLS_SQL)},
      'tools', ${toolsSql(TOOLS_SQL)}) as turn
  from tail join ended t on t.id = tail.turn_id join holdfast.sessions s on s.id = t.session_id and s.xmin = t.version
  where tail.is_awaited
)`,
    { absent: 'settled_turns as (select null::int as n, null::json as turn where false)' },
  ),
);

/** The ends of the turn's messages; empty when no request waits or the statement could not know. */
export function toSettlements(row: SettledTurnRow | null | undefined): Settlements {
  if (row === null || row === undefined || row.messages === null) return new Map();
  const turn = toTurnView(row);
  return new Map(row.messages.map((message) => [message.id, { message, turn }]));
}
