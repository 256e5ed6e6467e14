// Bulk actions and their items, as the API shows them.
import { raw, sql } from '../../database/drizzle.ts';
import type { BulkActionView, BulkItemView } from '../../contract/bulk-actions.ts';
import type { BulkItemStatus } from './rules.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';

const COLUMNS =
  raw(`a.id, a.action, a.target, a.filter, a.reason, a.per_second as "perSecond", a.is_canary as canary, a.status, a.total,
  a.done, a.skipped, a.failed, a.created_by as "createdBy", ${isoSql('a.created_at')} as "createdAt", ${isoSql('a.ended_at')} as "endedAt"`);
const ITEM_COLUMNS = raw(
  `i.n, i.subject as id, i.status, i.reason, i.message_ids as "messageIds", ${isoSql('i.settled_at')} as "settledAt"`,
);

/** An action, or null. */
export async function viewBulkAction(db: ViewDatabase, id: string): Promise<BulkActionView | null> {
  const { rows } = await db.query<BulkActionView>(
    sql`select ${COLUMNS} from holdfast.bulk_actions a where a.id = ${id}::uuid`,
  );
  return rows[0] ?? null;
}

/** Actions, newest first. */
export async function listBulkActions(db: ViewDatabase, page: PageRequest): Promise<Page<BulkActionView>> {
  const { rows } = await db.query<BulkActionView>(sql`
    select ${COLUMNS} from holdfast.bulk_actions a
    where (${page.after}::uuid is null or a.id < ${page.after}::uuid) order by a.id desc limit ${page.limit + 1}`);
  return cutPage(rows, page.limit, (action) => action.id);
}

/** The items of an action in the order in which they are worked off; `status`: only those. */
export async function listBulkItems(
  db: ViewDatabase,
  { id, status }: { id: string; status?: BulkItemStatus | undefined },
  page: PageRequest,
): Promise<Page<BulkItemView>> {
  const { rows } = await db.query<BulkItemView>(sql`
    select ${ITEM_COLUMNS} from holdfast.bulk_action_items i
    where i.action_id = ${id}::uuid and i.n > ${page.after ?? '0'}::int and (${status ?? null}::text is null or i.status = ${status ?? null})
    order by i.n limit ${page.limit + 1}`);
  return cutPage(rows, page.limit, ({ n }) => String(n));
}
