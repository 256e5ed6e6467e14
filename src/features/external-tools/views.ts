// Calls of external tools, as the API shows them: rows of the ledger, with the input that the model
// has written.
import type { ExternalCallView } from '../../contract/external-tools.ts';
import { parseToolCallId, toolCallId } from '../../core/tool-policy.ts';
import type { CallerCall } from '../../core/client-ids.ts';
import type { Scope } from '../../core/scope.ts';
import { isSeenText } from '../../database/scope-sql.ts';
import { HOLD_CODES } from '../../core/statuses.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { IS_HELD_SQL } from '../../kernel/turn/journal/settle-calls.ts';

// A call that has a result from outside ended before its time was over; one that was cancelled was
// settled as a call of a turn that is stopped.
const STATUS_SQL = `case when t.ended_at is null and ${IS_HELD_SQL} then case when c.held_until <= clock_timestamp() then 'expired' else 'waiting' end
    when c.status in ('done', 'failed') and c.ended_at < c.held_until then 'answered'
    when c.status = 'failed' then 'expired' else 'cancelled' end`;

const CALL_SQL = `${STATUS_SQL} as status, s.key as "sessionKey", c.call_id as "callId", c.name as tool,
  ${isoSql('c.intent_at')} as "requestedAt", ${isoSql('c.held_until')} as "expiresAt", ${isoSql('c.ended_at')} as "endedAt",
  (select block -> 'input' from holdfast.entries e, json_array_elements(e.content) as block
    where e.session_id = t.session_id and e.turn_id = t.id and e.kind = 'answer' and block ->> 'id' = c.call_id limit 1) as input`;

/** A row of the ledger, as these statements read it. */
type CallRow = Omit<ExternalCallView, 'id' | 'turnId'>;

export const readExternalCall = viewQuery({
  name: 'read-external-call',
  purpose: 'Read a call of an external tool.',
  text: `select ${CALL_SQL}
from holdfast.tool_calls c join holdfast.turns t on t.id = c.turn_id join holdfast.sessions s on s.id = t.session_id
where c.turn_id = $turnId and c.step = $step and c.ordinal = $ordinal and c.held_for = 'external_tool'`,
  values: ({ turnId, step, ordinal }: CallerCall) => ({ turnId, step, ordinal }),
  answer: ([row]: CallRow[]) => row ?? null,
});

// A call waits in a turn that is open: running, because a result may come before it is parked, or
// parked for what holds calls. The index of open turns answers that, however many calls have ended.
export const readWaitingCalls = viewQuery({
  name: 'list-external-calls',
  purpose: 'Read calls of external tools that wait for a result, oldest turn first.',
  text: `select c.turn_id as "turnId", c.step, c.ordinal, ${CALL_SQL}
from holdfast.turns t join holdfast.tool_calls c on c.turn_id = t.id join holdfast.sessions s on s.id = t.session_id
where t.ended_at is null and t.status in ('running', 'parked') and (t.status = 'running' or t.park_code in (${HOLD_CODES.map((code) => `'${code}'`).join(', ')}))
  and ${IS_HELD_SQL} and c.held_for = 'external_tool' and c.held_until > clock_timestamp() and ($tool::text is null or c.name = $tool)
  and ${isSeenText('$scope', 't.scope')}
  and t.id >= $turnId and (c.turn_id, c.step, c.ordinal) > ($turnId, $step::int, $ordinal::int)
order by t.id, c.step, c.ordinal limit $limit`,
  values: ({ turnId, step, ordinal }: CallerCall, { tool = null, scope }: CallFilter, limit: number) => ({
    turnId,
    step,
    ordinal,
    tool,
    scope,
    limit,
  }),
  answer: (rows: (CallRow & CallerCall)[]) =>
    rows.map(({ step, ordinal, ...row }) => ({
      ...row,
      id: toolCallId({ turnId: row.turnId, step, ordinal }),
    })),
});

interface CallFilter {
  tool?: string | null | undefined;
  scope: Scope;
}

/** Before the first call. */
const START: CallerCall = { turnId: '00000000-0000-0000-0000-000000000000', step: 0, ordinal: 0 };

/** A page of the calls that wait, oldest turn first. */
export async function listWaitingCalls(
  db: ViewDatabase,
  filter: CallFilter,
  { after, limit }: PageRequest,
): Promise<Page<ExternalCallView>> {
  const place = after === null ? START : (parseToolCallId(after) ?? START);
  return cutPage(await readWaitingCalls(db, place, filter, limit + 1), limit, ({ id }) => id);
}

/** The call; null: there is none with this id. */
export async function viewExternalCall(db: ViewDatabase, id: string): Promise<ExternalCallView | null> {
  const place = parseToolCallId(id);
  const row = place === null ? null : await readExternalCall(db, place);
  return row === null || place === null ? null : { ...row, id: toolCallId(place), turnId: place.turnId };
}
