// The data of traces: turns as the API shows them with the rows that relate them to others, and
// batches.
import type { TracedBatch } from './rules/step-spans.ts';
import type { TracedInput, TracedTurn } from './rules/traced-turn.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { dollarsSql } from '../../kernel/sessions/cost-sql.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { idAt, type ViewDatabase } from '../../database/page.ts';
import { viewTurns } from '../../kernel/views/turns.ts';

const INPUTS_SQL = (
  turnId: string,
): string => `coalesce((select json_agg(json_build_object('id', i.id, 'seq', i.seq, 'kind', i.kind,
    'disposition', i.disposition, 'causeKey', i.cause_key, 'traceparent', i.traceparent, 'receivedAt', ${isoSql('i.received_at')})
    order by i.seq) from holdfast.inbox i where i.turn_id = ${turnId} and i.status <> 'dropped'), '[]')`;

export const readTraceRows = viewQuery({
  name: 'turn-traces',
  purpose: 'Read what turns answer, what made that, and what followed from it.',
  text: `select t.id, s.agent_id as "agentId", ${INPUTS_SQL('t.id')} as inputs,
  coalesce((select json_object_agg(m.call_no, m.response_id) from holdfast.model_calls m
    where m.turn_id = t.id and m.response_id is not null), '{}') as "responseIds",
  coalesce((select json_agg(json_build_object('id', c.id, 'reason', c.reason, 'status', c.status, 'tokensBefore', c.tokens_before,
      'tokensAfter', c.tokens_after, 'startedAt', ${isoSql('c.started_at')}, 'endedAt', ${isoSql('c.ended_at')}) order by c.id)
    from holdfast.compactions c where c.turn_id = t.id), '[]') as compactions,
  coalesce((select json_agg(json_build_object('id', d.id, 'channel', d.channel, 'status', d.status, 'attempts', d.attempts,
      'httpStatus', d.last_status, 'createdAt', ${isoSql('d.created_at')}, 'settledAt', ${isoSql('d.settled_at')}) order by d.seq)
    from holdfast.deliveries d where d.session_id = t.session_id and d.turn_id = t.id), '[]') as deliveries,
  -- The cause of a spawn is its tool call: call:<turn>:<call>.
  (select json_build_object('turnId', tc.turn_id, 'step', tc.step, 'callId', tc.call_id, 'inputs', ${INPUTS_SQL('tc.turn_id')})
    from holdfast.subagent_runs r join holdfast.tool_calls tc
      on tc.turn_id = case when r.cause_key like 'call:%' then split_part(r.cause_key, ':', 2)::uuid end
        and r.cause_key = 'call:' || tc.turn_id || ':' || tc.call_id
    where r.id = case when first.cause_key like 'spawn:%' then split_part(first.cause_key, ':', 2)::uuid end limit 1) as "spawnedBy",
  (select json_build_object('id', c.id, 'name', c.name) from holdfast.crons c
    where c.id = case when first.cause_key like 'cron:%' then split_part(first.cause_key, ':', 2)::uuid end) as cron,
  case when first.cause_key like 'batch:%' then split_part(first.cause_key, ':', 2) end as "batchId",
  case when $2 then json_build_object('instructions', (select n.content from holdfast.snapshots n where n.sha256 = t.system_sha256),
    'prompt', (select e.content from holdfast.entries e where e.session_id = t.session_id and e.seq = t.prompt_seq)) end as texts
from holdfast.turns t join holdfast.sessions s on s.id = t.session_id
left join lateral (select i.cause_key from holdfast.inbox i where i.turn_id = t.id order by i.seq limit 1) as first on true
where t.id = any ($1::uuid[])`,
  values: (ids: string[], hasContent: boolean) => [ids, hasContent],
  answer: (rows: TraceRow[]) => new Map(rows.map((row) => [row.id, row])),
});

interface TraceRow extends Pick<
  TracedTurn,
  'id' | 'agentId' | 'responseIds' | 'compactions' | 'deliveries' | 'spawnedBy' | 'cron' | 'batchId'
> {
  inputs: TracedInput[];
  /** The texts as they are stored. */
  texts: { instructions: unknown; prompt: unknown } | null;
}

/** The turns of these ids, in no order. `hasContent`: with their texts. */
export async function viewTurnTraces(
  db: ViewDatabase,
  ids: string[],
  { hasContent, leaseMs }: { hasContent: boolean; leaseMs: number },
): Promise<TracedTurn[]> {
  const [turns, traces] = await Promise.all([viewTurns(db, ids, leaseMs), readTraceRows(db, ids, hasContent)]);
  return turns.flatMap((turn) => {
    const trace = traces.get(turn.id);
    if (trace === undefined) return [];
    const { texts, ...rest } = trace;
    const content =
      texts === null
        ? null
        : { instructions: textIn(texts.instructions), inputs: textsIn(texts.prompt), reply: turn.reply };
    return [{ ...turn, ...rest, attempts: turn.attempts ?? [], content }];
  });
}

function textIn(content: unknown): string | null {
  const texts = textsIn(content);
  return texts.length === 0 ? null : texts.join('\n');
}

/** The texts of stored content: a text, or blocks of which some have a text. */
function textsIn(content: unknown): string[] {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap((block: unknown) =>
    typeof block === 'object' && block !== null && 'text' in block && typeof block.text === 'string'
      ? [block.text]
      : [],
  );
}

/**
 * How long before a process fell silent a trace may have waited in it, and how long a turn may have
 * lasted, in milliseconds.
 */
const UNSENT_MS = 60_000;
const LASTED_MS = 3_600_000;
const LOST_TURNS_MAX = 2048;

/** The ids of the turns that these processes had ended last. */
export const findTurnsOfLost = viewQuery({
  name: 'turns-of-lost',
  purpose: 'Read the turns that lost processes had ended last, whose traces may have been lost with them.',
  // Ids begin with the time at which they were made.
  text: `select t.id from holdfast.turns t join holdfast.workers w on w.name = t.worker
where w.name = any ($1::text[]) and t.id >= $2 and t.ended_at >= w.seen_at - ${UNSENT_MS} * interval '1 millisecond'
order by t.id desc limit ${LOST_TURNS_MAX}`,
  values: (workers: readonly string[], now: Date) => [workers, idAt(now.getTime() - LASTED_MS)],
  answer: (turns: { id: string }[]) => turns.map(({ id }) => id),
});

/** In no order. */
export const viewBatchTraces = viewQuery({
  name: 'batch-traces',
  purpose: 'Read batches that have ended.',
  text: `select b.id, b.name, b.agent_id as "agentId", b.outcome, json_build_object('total', b.item_count, 'answered', b.answered,
    'silent', b.silent, 'failed', b.failed, 'cancelled', b.cancelled, 'expired', b.expired) as counts,
  ${dollarsSql('b.cost_micros')} as "costUsd", ${isoSql('b.created_at')} as "createdAt", ${isoSql('b.ended_at')} as "endedAt"
from holdfast.batches b where b.id = any ($1::uuid[]) and b.status = 'ended'`,
  values: (ids: string[]) => [ids],
  answer: (batches: TracedBatch[]) => batches,
});
