// Calls of external tools, as the API shows them: rows of the ledger, with the input that the model
// has written.
import type { ExternalCallView } from '../../contract/external-tools.ts';
import { parseToolCallId, toolCallId } from '../../core/tool-policy.ts';
import type { CallerCall } from '../../core/client-ids.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { IS_HELD_SQL } from '../../kernel/turn/journal/settle-calls.ts';

// A call that has a result from outside ended before its time was over; one that was cancelled was
// settled as a call of a turn that is stopped.
const STATUS_SQL = `case when t.ended_at is null and ${IS_HELD_SQL} then case when c.held_until <= clock_timestamp() then 'expired' else 'waiting' end
    when c.status in ('done', 'failed') and c.ended_at < c.held_until then 'answered'
    when c.status = 'failed' then 'expired' else 'cancelled' end`;

export const readExternalCall = viewQuery({
  name: 'read-external-call',
  purpose: 'Read a call of an external tool.',
  text: `select ${STATUS_SQL} as status, s.key as "sessionKey", c.call_id as "callId", c.name as tool,
  ${isoSql('c.intent_at')} as "requestedAt", ${isoSql('c.held_until')} as "expiresAt", ${isoSql('c.ended_at')} as "endedAt",
  (select block -> 'input' from holdfast.entries e, json_array_elements(e.content) as block
    where e.session_id = t.session_id and e.turn_id = t.id and e.kind = 'answer' and block ->> 'id' = c.call_id limit 1) as input
from holdfast.tool_calls c join holdfast.turns t on t.id = c.turn_id join holdfast.sessions s on s.id = t.session_id
where c.turn_id = $turnId and c.step = $step and c.ordinal = $ordinal and c.held_for = 'external_tool'`,
  values: ({ turnId, step, ordinal }: CallerCall) => ({ turnId, step, ordinal }),
  answer: ([row]: Omit<ExternalCallView, 'id' | 'turnId'>[]) => row ?? null,
});

/** The call; null: there is none with this id. */
export async function viewExternalCall(db: ViewDatabase, id: string): Promise<ExternalCallView | null> {
  const place = parseToolCallId(id);
  const row = place === null ? null : await readExternalCall(db, place);
  return row === null || place === null ? null : { ...row, id: toolCallId(place), turnId: place.turnId };
}
