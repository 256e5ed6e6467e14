// The upload of a batch: a row that no feeder sees, its items in groups as they are read, and one
// statement that starts it. An upload that is refused or broken off is deleted; one whose process
// crashed is deleted by the rounds of batches.
import type { AskedBatch, ItemDefaults } from '../rules/batch.ts';
import type { SessionKey } from '../../../core/ids.ts';
import type { MessageVia } from '../../../core/inbound.ts';
import type { Scope } from '../../../core/scope.ts';
import type { Database } from '../../../database/database.ts';
import { startedCapsSql } from './batch-cap.ts';
import { insertServiceEventsSql } from '../../../kernel/events/events.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** A batch before its first item. */
export interface NewBatch {
  id: string;
  name: string | null;
  via: MessageVia;
  agentId: string;
  /** The model of items that name none, as the provider names it. */
  model: string;
  defaults: ItemDefaults & { deliver?: { url: string } };
  concurrency: number;
  weight: number;
  pilot: number | null;
  maxFailurePercent: number;
  maxCostMicros: number | null;
  /** Null: none. */
  deadlineSeconds: number | null;
  fallback: 'live' | 'fail';
  cache: 'auto' | '1h' | '5m' | 'off';
  createdBy: string;
  /** The root of what a key with a scope makes; null: it has none. */
  owner: string | null;
  /** What its items may be about. */
  scope: Scope;
}

// Nothing reads its format, which may not be null.
export const beginUpload = literalQuery({
  name: 'begin-batch-upload',
  purpose: 'Make a batch that takes items and is not fed yet.',
  text: `insert into holdfast.batches (id, name, via, agent_id, defaults, concurrency, weight, pilot, max_failure_percent, max_cost_micros,
  deadline_at, fallback, cache, format, created_by, owner, model)
values ($id, $name, $via, $agentId, $defaults::json, $concurrency, $weight, $pilot, $maxFailurePercent, $maxCostMicros,
  clock_timestamp() + $deadlineSeconds * interval '1 second', $fallback, $cache, 'ndjson', $createdBy, $owner, $model)
on conflict (id) do nothing`,
  pool: 'views',
  values: (batch: NewBatch) => batch,
});

/** An item with its place in the batch. */
export interface PlacedItem {
  n: number;
  customId: string | null;
  sessionKey: SessionKey;
  isOwnSession: boolean;
  /** The item of the same session before it. */
  afterN: number | null;
}

/** An item as it is stored. */
export interface NewItem extends PlacedItem {
  /** JSON text. */
  body: string;
}

export const addItems = literalQuery({
  name: 'add-batch-items',
  purpose: 'Store a group of items. Items of a batch that is no longer uploading are left out.',
  locking: 'The batch, shared, so that it is not started or deleted meanwhile.',
  text: `with held as materialized (select id from holdfast.batches where id = $1 and status = 'uploading' for share)
insert into holdfast.batch_items (batch_id, n, custom_id, session_key, is_own_session, after_n, is_ready, body)
select held.id, item.n, item.custom_id, item.session_key, item.is_own, item.after_n, item.after_n is null, item.body::json
from held, unnest($2::int[], $3::text[], $4::text[], $5::boolean[], $6::int[], $7::text[]) as item (n, custom_id, session_key, is_own, after_n, body)
on conflict do nothing`,
  pool: 'views',
  values: (batchId: string, items: readonly NewItem[]) => [
    batchId,
    ...(['n', 'customId', 'sessionKey', 'isOwnSession', 'afterN', 'body'] as const).map((field) =>
      items.map((item) => item[field]),
    ),
  ],
});

interface BatchStart {
  batchId: string;
  itemCount: number;
  idempotency: KeyedRequest | null;
  /** The fields of an OpenAI client's request; absent: the batch was not created by one. */
  asked?: AskedBatch | undefined;
}

/**
 * Starts a batch: from here on it is fed. Rejects with a violated primary key when another request
 * has stored the key; see `isKeyTaken`. False: the upload no longer exists.
 */
export const startBatch = literalQuery({
  name: 'start-batch',
  purpose: 'Make an upload a batch that is fed. Answers a row when it did.',
  locking: 'The batch.',
  text: `with started as (
  update holdfast.batches b
  set status = 'running', item_count = $itemCount, started_at = clock_timestamp(), mark_at = clock_timestamp()
  where b.id = $batchId and b.status = 'uploading'
  returning b.id, b.name, b.item_count, b.max_cost_micros, b.cost_micros
),
${startedCapsSql('started')},
${keyedSql(`select json_build_object('batchId', id) from started`)},
asked as (
  insert into holdfast.client_batches (id, input_file_id, endpoint, completion_window, metadata)
  select id, $inputFileId::uuid, $endpoint::text, $completionWindow::text, $metadata::json from started where $inputFileId::uuid is not null
),
inserted_events as (
  ${insertServiceEventsSql('started', 'batch.created', `'batchId', id, 'name', name, 'items', item_count`)}
)
select id from started`,
  pool: 'views',
  values: ({ batchId, itemCount, idempotency, asked }: BatchStart) => ({
    batchId,
    itemCount,
    ...asked,
    metadata: asked?.metadata ? JSON.stringify(asked.metadata) : null,
    ...idempotency,
  }),
  answer: (rows) => rows.length > 0,
});

/** False: the upload no longer exists. */
export const awaitUpload = literalQuery({
  name: 'await-batch-upload',
  purpose:
    'Wait for statements about an upload that are still under way, such as one whose connection broke. Answers a row when it is there.',
  locking: 'The batch.',
  text: `select id from holdfast.batches where id = $1 and status = 'uploading' for update`,
  pool: 'views',
  values: (batchId: string) => [batchId],
  answer: (rows) => rows.length > 0,
});

export const deleteUploadRows = literalQuery({
  name: 'delete-batch-upload',
  purpose: 'Delete an upload that was refused or broken off.',
  locking: 'The batch, then its items.',
  text: `with deleted as (delete from holdfast.batches where id = $1 and status = 'uploading' returning id)
delete from holdfast.batch_items i using deleted where i.batch_id = deleted.id`,
  pool: 'views',
  values: (batchId: string) => [batchId],
});

/** Deletes an upload; one that was started meanwhile stays. */
export async function deleteUpload(database: Database, batchId: string): Promise<void> {
  // Items that are stored while a deletion waits for them would not be seen by it, and stay.
  await awaitUpload(database, batchId);
  await deleteUploadRows(database, batchId);
}
