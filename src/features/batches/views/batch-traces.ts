// The data of the traces of batches.
import type { TracedBatch } from '../../traces/rules/step-spans.ts';
import { dollarsSql } from '../../../kernel/turn/journal/cost-sql.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { literal } from '../../../database/statement.ts';
import type { ViewDatabase } from '../../../database/page.ts';

export const BATCH_TRACES = literal({
  name: 'batch-traces',
  purpose: 'Read batches that have ended.',
  text: `select b.id, b.name, b.agent_id as "agentId", b.outcome, json_build_object('total', b.item_count, 'answered', b.answered,
    'silent', b.silent, 'failed', b.failed, 'cancelled', b.cancelled, 'expired', b.expired) as counts,
  ${dollarsSql('b.cost_micros')} as "costUsd", ${isoSql('b.created_at')} as "createdAt", ${isoSql('b.ended_at')} as "endedAt"
from holdfast.batches b where b.id = any ($1::uuid[]) and b.status = 'ended'`,
});

/** The batches of these ids, in no order. */
export async function viewBatchTraces(db: ViewDatabase, ids: string[]): Promise<TracedBatch[]> {
  if (ids.length === 0) return [];
  const { rows } = await db.query<TracedBatch>(BATCH_TRACES.prepared([ids]));
  return rows;
}
