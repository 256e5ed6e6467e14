// Polls as the API shows them, newest first: made or skipped, with the results of those that were made.
import { sql } from '../drizzle.ts';
import { isoOf, isoOrNull, pageOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

export const HEARTBEAT_STATUSES = ['claimed', 'fired', 'skipped'] as const;
export const HEARTBEAT_RESULTS = ['acknowledged', 'alert', 'duplicate', 'failed'] as const;

export interface HeartbeatView {
  id: string;
  agentId: string;
  sessionKey: string;
  scheduledFor: string;
  trigger: 'interval' | 'manual';
  status: (typeof HEARTBEAT_STATUSES)[number];
  /** Why it was skipped. */
  reason: string | null;
  detail: string | null;
  /** Null while it runs, and for skipped polls. */
  result: (typeof HEARTBEAT_RESULTS)[number] | null;
  messageId: string | null;
  turnId: string | null;
  settledAt: string | null;
}

/** Polls, newest first. */
export async function listHeartbeats(
  db: ViewDatabase,
  filter: { id?: string; agentId?: string | undefined; status?: string | undefined },
  page: PageRequest,
): Promise<Page<HeartbeatView>> {
  const result = await db.execute<HeartbeatRow & Record<string, unknown>>(sql`
    select h.id, h.agent_id, s.key as session_key, h.scheduled_for, h.trigger, h.status, h.reason, h.detail, h.result, h.message_id,
      i.turn_id, i.status as message_status, h.settled_at
    from holdfast.heartbeats h join holdfast.sessions s on s.id = h.session_id left join holdfast.inbox i on i.id = h.message_id
    where (${filter.id ?? null}::uuid is null or h.id = ${filter.id ?? null}::uuid)
      and (${filter.agentId ?? null}::text is null or h.agent_id = ${filter.agentId ?? null})
      and (${filter.status ?? null}::text is null or h.status = ${filter.status ?? null})
      and (${page.after}::uuid is null or h.id < ${page.after}::uuid)
    order by h.id desc limit ${page.limit + 1}`);
  return pageOf(result.rows, page.limit, { item: viewOf, key: (row) => row.id });
}

/** The poll of this id, or null. */
export async function viewHeartbeat(db: ViewDatabase, id: string): Promise<HeartbeatView | null> {
  return (await listHeartbeats(db, { id }, { limit: 1, after: null })).items[0] ?? null;
}

interface HeartbeatRow {
  id: string;
  agent_id: string;
  session_key: string;
  scheduled_for: Date | string;
  trigger: HeartbeatView['trigger'];
  status: HeartbeatView['status'];
  reason: string | null;
  detail: string | null;
  result: HeartbeatView['result'];
  message_id: string | null;
  turn_id: string | null;
  message_status: string | null;
  settled_at: Date | string | null;
}

function viewOf(row: HeartbeatRow): HeartbeatView {
  const hasEndedBadly = ['failed', 'cancelled', 'dropped'].includes(row.message_status ?? '');
  return {
    id: row.id,
    agentId: row.agent_id,
    sessionKey: row.session_key,
    scheduledFor: isoOf(new Date(row.scheduled_for)),
    trigger: row.trigger,
    status: row.status,
    reason: row.reason,
    detail: row.detail,
    result: row.result ?? (hasEndedBadly ? 'failed' : null),
    messageId: row.message_id,
    turnId: row.turn_id,
    settledAt: isoOrNull(row.settled_at === null ? null : new Date(row.settled_at)),
  };
}
