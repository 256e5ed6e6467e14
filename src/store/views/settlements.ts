// How messages ended, for those who wait for them. This is on the way of every request that waits, so it is one statement for all
// of them, and its JSON is made by the database.
import { isoSql } from '../session-facts.ts';
import type { MessageView } from './messages.ts';
import type { ViewDatabase } from './page.ts';
import { StepCollection, type ModelCallView, type ToolCallView } from './turn-steps.ts';
import { withSteps, type TurnFacts, type TurnView } from './turns.ts';

/** `turn` is null when no turn ever took the message. */
export interface SettlementView {
  message: MessageView;
  turn: TurnView | null;
}

const MESSAGE = `json_build_object('id', i.id, 'sessionKey', s.key, 'seq', i.seq, 'kind', i.kind,
  'text', coalesce(i.body ->> 'text', ''), 'status', i.status, 'turnId', i.turn_id,
  'reply', case when i.status = 'answered' then coalesce(i.reply, t.reply) end,
  'error', coalesce(i.error, case when i.status in ('failed', 'cancelled') then t.error end),
  'receivedAt', ${isoSql('i.received_at')}, 'settledAt', ${isoSql('i.settled_at')})`;

const usage = (
  alias: string,
) => `json_build_object('inputTokens', ${alias}.input_tokens, 'outputTokens', ${alias}.output_tokens,
  'cacheReadTokens', ${alias}.cache_read_tokens, 'cacheWriteTokens', ${alias}.cache_write_tokens)`;

const TURN = `json_build_object('id', t.id, 'sessionKey', s.key, 'kind', t.kind, 'lane', t.lane, 'status', t.status,
  'attempt', t.attempt, 'epoch', t.epoch, 'worker', t.worker, 'model', t.model, 'reply', t.reply, 'error', t.error,
  'usage', ${usage('t')}, 'queuedAt', ${isoSql('t.queued_at')}, 'claimedAt', ${isoSql('t.claimed_at')},
  'startedAt', ${isoSql('t.started_at')}, 'endedAt', ${isoSql('t.ended_at')}, 'stepCount', t.steps)`;

const CALLS = `(select json_agg(json_build_object('step', c.step, 'call', json_build_object('n', c.call_no, 'purpose', c.purpose, 'notes', c.notes,
    'status', c.status, 'stopReason', c.stop_reason, 'error', c.error, 'usage', ${usage('c')},
    'startedAt', ${isoSql('c.started_at')}, 'firstChunkAt', ${isoSql('c.first_chunk_at')},
    'endedAt', ${isoSql('c.ended_at')})) order by c.call_no)
  from holdfast.model_calls c where c.turn_id = t.id)`;

const TOOLS = `(select json_agg(json_build_object('step', x.step, 'tool', json_build_object('callId', x.call_id,
    'name', x.name, 'status', x.status, 'isIdempotent', x.is_idempotent, 'runs', x.runs,
    'startedAt', ${isoSql('x.intent_at')}, 'endedAt', ${isoSql('x.ended_at')})) order by x.step, x.ordinal)
  from holdfast.tool_calls x where x.turn_id = t.id)`;

// Prepared under a name: planning it costs more than running it.
const SETTLEMENTS_SQL = `/* settlements */
select ${MESSAGE} as message, case when t.id is not null then ${TURN} end as turn, ${CALLS} as calls, ${TOOLS} as tools
from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id left join holdfast.turns t on t.id = i.turn_id
where i.id = any ($1::uuid[]) and i.status not in ('waiting', 'claimed')`;

interface SettlementRow {
  message: MessageView;
  turn: TurnFacts | null;
  calls: { step: number; call: ModelCallView }[] | null;
  tools: { step: number; tool: ToolCallView }[] | null;
}

/** How these messages ended, by their ids; a message that is not settled, or does not exist, is absent. */
export async function viewSettlements(db: ViewDatabase, messageIds: string[]): Promise<Map<string, SettlementView>> {
  if (messageIds.length === 0) return new Map();
  const result = await db.$client.query<SettlementRow>({
    name: 'settlements',
    text: SETTLEMENTS_SQL,
    values: [messageIds],
  });
  return new Map(result.rows.map((row) => [row.message.id, settlementOf(row)]));
}

function settlementOf({ message, turn, calls, tools }: SettlementRow): SettlementView {
  if (turn === null) return { message, turn: null };
  const steps = new StepCollection();
  for (const { step, call } of calls ?? []) steps.of(turn.id, step).calls.push(call);
  for (const { step, tool } of tools ?? []) steps.of(turn.id, step).tools.push(tool);
  return { message, turn: withSteps(turn, steps.sorted().get(turn.id) ?? []) };
}
