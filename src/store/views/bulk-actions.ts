// Bulk actions and their items, as the API shows them.
import type { BulkItemStatus, BulkStatus, BulkTarget, BulkVerb } from '../../core/bulk/bulk-action.ts';
import { sql } from '../drizzle.ts';
import { isoOf, isoOrNull, pageOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

export interface BulkActionView {
  id: string;
  action: BulkVerb;
  target: BulkTarget;
  filter: Record<string, unknown>;
  reason: string | null;
  perSecond: number | null;
  canary: boolean;
  status: BulkStatus;
  total: number;
  done: number;
  skipped: number;
  failed: number;
  createdBy: string;
  createdAt: string;
  endedAt: string | null;
}

export interface BulkItemView {
  n: number;
  /** The id of the turn, message, delivery or letter. */
  id: string;
  status: BulkItemStatus;
  reason: string | null;
  messageIds: string[] | null;
  settledAt: string | null;
}

const COLUMNS = sql`a.id, a.action, a.target, a.filter, a.reason, a.per_second, a.is_canary, a.status, a.total, a.done, a.skipped, a.failed,
  a.created_by, a.created_at, a.ended_at`;

/** An action, or null. */
export async function viewBulkAction(db: ViewDatabase, id: string): Promise<BulkActionView | null> {
  const { rows } = await db.execute<BulkActionRow & Record<string, unknown>>(
    sql`select ${COLUMNS} from holdfast.bulk_actions a where a.id = ${id}::uuid`,
  );
  return rows[0] === undefined ? null : actionViewOf(rows[0]);
}

/** Actions, newest first. */
export async function listBulkActions(db: ViewDatabase, page: PageRequest): Promise<Page<BulkActionView>> {
  const result = await db.execute<BulkActionRow & Record<string, unknown>>(sql`
    select ${COLUMNS} from holdfast.bulk_actions a
    where (${page.after}::uuid is null or a.id < ${page.after}::uuid) order by a.id desc limit ${page.limit + 1}`);
  return pageOf(result.rows, page.limit, { item: actionViewOf, key: (row) => row.id });
}

/** The items of an action in the order in which they are worked off; `status`: only those. */
export async function listBulkItems(
  db: ViewDatabase,
  { id, status }: { id: string; status?: BulkItemStatus | undefined },
  page: PageRequest,
): Promise<Page<BulkItemView>> {
  const result = await db.execute<BulkItemRow & Record<string, unknown>>(sql`
    select i.n, i.subject, i.status, i.reason, i.message_ids, i.settled_at from holdfast.bulk_action_items i
    where i.action_id = ${id}::uuid and i.n > ${page.after ?? '0'}::int and (${status ?? null}::text is null or i.status = ${status ?? null})
    order by i.n limit ${page.limit + 1}`);
  return pageOf(result.rows, page.limit, { item: itemViewOf, key: (row) => String(row.n) });
}

interface BulkActionRow {
  id: string;
  action: BulkVerb;
  target: BulkTarget;
  filter: Record<string, unknown>;
  reason: string | null;
  per_second: number | null;
  is_canary: boolean;
  status: BulkStatus;
  total: number;
  done: number;
  skipped: number;
  failed: number;
  created_by: string;
  created_at: Date | string;
  ended_at: Date | string | null;
}

interface BulkItemRow {
  n: number;
  subject: string;
  status: BulkItemStatus;
  reason: string | null;
  message_ids: string[] | null;
  settled_at: Date | string | null;
}

function actionViewOf(row: BulkActionRow): BulkActionView {
  const { id, action, target, filter, reason, status, total, done, skipped, failed } = row;
  return {
    id,
    action,
    target,
    filter,
    reason,
    perSecond: row.per_second,
    canary: row.is_canary,
    status,
    total,
    done,
    skipped,
    failed,
    createdBy: row.created_by,
    createdAt: isoOf(new Date(row.created_at)),
    endedAt: isoOrNull(row.ended_at === null ? null : new Date(row.ended_at)),
  };
}

function itemViewOf({
  n,
  subject,
  status,
  reason,
  message_ids: messageIds,
  settled_at: settledAt,
}: BulkItemRow): BulkItemView {
  return {
    n,
    id: subject,
    status,
    reason,
    messageIds,
    settledAt: isoOrNull(settledAt === null ? null : new Date(settledAt)),
  };
}
