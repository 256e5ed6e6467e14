// How messages ended, for requests that wait for them. Every waiting request uses it, so it is one statement for all of them, and
// the database builds its JSON.
import type { SettledMessage } from '../../contract/answers.ts';
import type { MessageView } from '../../contract/views.ts';
import { CALLS_SQL, messageSql, toolsSql, turnSql } from './settlement-sql.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { buildSteps, fillOutput, type TurnRow, type TurnSummary } from './turn-steps.ts';
import { withSteps } from './turns.ts';
import { viewQuery } from '../../database/literal-query.ts';

export type SettlementView = Omit<SettledMessage, 'reply' | 'output'>;

// Prepared under a name, for the pool `hot`: planning it costs more than running it.
export const readSettlements = viewQuery({
  name: 'settlements',
  purpose: 'Read how messages ended, with their turns and steps.',
  text: `select ${messageSql()} as message, case when t.id is not null then ${turnSql()} end as turn,
  ${CALLS_SQL} as calls, ${toolsSql()} as tools
from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id left join holdfast.turns t on t.id = i.turn_id
where i.id = any ($1::uuid[]) and i.status not in ('delayed', 'waiting', 'claimed')`,
  values: (messageIds: string[]) => [messageIds],
  answer: (rows: SettlementRow[]) => new Map(rows.map((row) => [row.message.id, toSettlement(row)])),
});

interface SettlementRow extends Omit<TurnRow, 'turn'> {
  message: MessageView;
  turn: TurnSummary | null;
}

/** How these messages ended, by their ids; a message that is not settled, or does not exist, is absent. */
export async function viewSettlements(db: ViewDatabase, messageIds: string[]): Promise<Map<string, SettlementView>> {
  if (messageIds.length === 0) return new Map();
  return readSettlements(db, messageIds);
}

function toSettlement({ message, turn, calls, tools }: SettlementRow): SettlementView {
  if (turn === null) return { message, turn };
  fillOutput(turn);
  return { message, turn: withSteps(turn, buildSteps({ calls, tools })) };
}
