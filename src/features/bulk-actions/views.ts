// Bulk actions and their items, as the API shows them.
import type { BulkActionView, BulkItemView } from './contract.ts';
import type { BulkItemStatus } from './rules.ts';
import { listOf } from '../../database/list-of.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';

export const bulkActions = listOf<object, BulkActionView>({
  name: 'list-bulk-actions',
  purpose: 'Read bulk actions, newest first.',
  text: `select a.id, a.action, a.target, a.filter, a.reason, a.per_second as "perSecond", a.is_canary as canary, a.status, a.total,
  a.done, a.skipped, a.failed, a.created_by as "createdBy", ${isoSql('a.created_at')} as "createdAt", ${isoSql('a.ended_at')} as "endedAt"
from holdfast.bulk_actions a`,
  filters: {},
  order: 'a.id desc',
});

export const bulkItems = listOf<{ actionId: string; status?: BulkItemStatus | undefined }, BulkItemView>({
  name: 'list-bulk-items',
  purpose: 'Read the items of a bulk action, in the order in which they are worked off.',
  text: `select i.n, i.subject as id, i.status, i.reason, i.message_ids as "messageIds", ${isoSql('i.settled_at')} as "settledAt"
from holdfast.bulk_action_items i`,
  where: 'i.action_id = $actionId',
  filters: { status: 'i.status = $status' },
  order: 'i.n asc',
  key: 'n',
});
