// Polls as the API shows them, newest first: made or skipped, with the results of those that were made.
import { raw, sql } from '../../database/drizzle.ts';
import type { HeartbeatView } from '../../contract/crons.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';

/** A poll that was made has failed also when its message did. */
const COLUMNS =
  raw(`h.id, h.agent_id as "agentId", s.key as "sessionKey", ${isoSql('h.scheduled_for')} as "scheduledFor", h.trigger, h.status,
  h.reason, h.detail, coalesce(h.result, case when i.status in ('failed', 'cancelled', 'dropped') then 'failed' end) as result,
  h.message_id as "messageId", i.turn_id as "turnId", ${isoSql('h.settled_at')} as "settledAt"`);

/** Polls, newest first. */
export async function listHeartbeats(
  db: ViewDatabase,
  filter: { id?: string; agentId?: string | undefined; status?: string | undefined },
  page: PageRequest,
): Promise<Page<HeartbeatView>> {
  const { rows } = await db.query<HeartbeatView>(sql`
    select ${COLUMNS}
    from holdfast.heartbeats h join holdfast.sessions s on s.id = h.session_id left join holdfast.inbox i on i.id = h.message_id
    where (${filter.id ?? null}::uuid is null or h.id = ${filter.id ?? null}::uuid)
      and (${filter.agentId ?? null}::text is null or h.agent_id = ${filter.agentId ?? null})
      and (${filter.status ?? null}::text is null or h.status = ${filter.status ?? null})
      and (${page.after}::uuid is null or h.id < ${page.after}::uuid)
    order by h.id desc limit ${page.limit + 1}`);
  return cutPage(rows, page.limit, ({ id }) => id);
}

/** The poll of this id, or null. */
export async function viewHeartbeat(db: ViewDatabase, id: string): Promise<HeartbeatView | null> {
  return (await listHeartbeats(db, { id }, { limit: 1, after: null })).items[0] ?? null;
}
