// Batches and their items as the API shows them. Reads only. The counts of a batch are stored with it; only the items in flight are looked at
// one by one.
import type { BatchOutcome, BatchStatus, BatchVia, ItemStatus, PauseReason } from '../../core/batch/batch.ts';
import { endedOf } from '../../core/batch/judge-batch.ts';
import { etaOf } from '../../core/batch/progress.ts';
import { isoSql } from '../session-facts.ts';
import { literal } from '../statement.ts';
import { whySql, type Why } from '../why-sql.ts';
import { pageOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

const MICROS = 1_000_000;

interface TokenUsage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
}

type Counts = Record<'total' | ItemStatus, number>;

interface BatchHop {
  n: number;
  via: BatchVia;
  reason: string;
  requests: number;
  submittedAt: string | null;
  endedAt: string | null;
  cacheHitRate: number | null;
  costUsd: number | null;
  providerBatchIds: string[];
}

export interface BatchView {
  id: string;
  name: string | null;
  status: BatchStatus;
  outcome: BatchOutcome | null;
  pauseReason: PauseReason | null;
  /** What led to the pause, for people. */
  pauseDetail: string | null;
  via: BatchVia;
  agentId: string;
  concurrency: number;
  weight: number;
  pilot: number | null;
  maxFailurePercent: number;
  deadlineAt: string | null;
  counts: Counts;
  ratePerMinute: number | null;
  eta: { from: string; to: string } | null;
  usage: TokenUsage;
  costUsd: number | null;
  costMicros: number | null;
  unpricedCalls: number;
  simulated: boolean;
  reservedUsd: number;
  wastedUsd: number;
  maxCostUsd: number | null;
  liveCostUsd: number | null;
  savedPercent: number | null;
  cacheHitRate: number | null;
  /** None: a live batch has no round through the provider's batches. */
  hops: BatchHop[];
  errors: { code: string; count: number; sample: string }[];
  createdBy: string;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
}

/** The groups of errors that are shown, largest first, and how much of a message. */
const ERRORS_MAX = 20;
const SAMPLE_CHARS_MAX = 500;

const USAGE_SQL = (alias: string): string =>
  `json_build_object('inputTokens', ${alias}.input_tokens, 'outputTokens', ${alias}.output_tokens,
    'cacheReadTokens', ${alias}.cache_read_tokens, 'cacheWriteTokens', ${alias}.cache_write_tokens)`;

const BATCH_COLUMNS = `b.id, b.name, b.status, b.outcome, b.pause_reason as "pauseReason", b.pause_detail as "pauseDetail", b.via,
  b.agent_id as "agentId", b.concurrency, b.weight, b.pilot, b.max_failure_percent as "maxFailurePercent",
  ${isoSql('b.deadline_at')} as "deadlineAt", b.item_count as total, b.in_flight as "inFlight", b.answered, b.silent, b.failed,
  b.cancelled, b.expired, case when b.status = 'running' then b.rate_per_minute end as "ratePerMinute",
  ${USAGE_SQL('b')} as usage, b.cost_micros::float8 as "costMicros", b.unpriced_calls as "unpricedCalls", b.is_simulated as simulated,
  b.reserved_micros::float8 as "reservedMicros", b.max_cost_micros::float8 as "maxCostMicros", b.created_by as "createdBy",
  ${isoSql('b.created_at')} as "createdAt", ${isoSql('b.started_at')} as "startedAt", ${isoSql('b.ended_at')} as "endedAt",
  (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
  case when b.in_flight > 0 then (
    select json_build_object('running', count(*) filter (where x.status <> 'waiting' and coalesce(t.status, '') <> 'parked'),
      'parked', count(*) filter (where x.status <> 'waiting' and t.status = 'parked'))
    from holdfast.batch_items i join holdfast.inbox x on x.id = i.message_id left join holdfast.turns t on t.id = x.turn_id
    where i.batch_id = b.id and i.status = 'fed'
  ) end as flight,
  case when b.failed + b.expired > 0 then (
    select json_agg(json_build_object('code', code, 'count', count, 'sample', sample) order by count desc, code) from (
      select i.error_code as code, count(*)::int as count,
        (select left(coalesce(s.error ->> 'message', ''), ${SAMPLE_CHARS_MAX}) from holdfast.batch_items s
          where s.batch_id = b.id and s.n = min(i.n)) as sample
      from holdfast.batch_items i where i.batch_id = b.id and i.error_code is not null group by i.error_code
      order by 2 desc limit ${ERRORS_MAX}
    ) as groups
  ) end as errors`;

export const VIEW_BATCH = literal({
  name: 'view-batch',
  purpose: 'Read one batch.',
  text: `select ${BATCH_COLUMNS} from holdfast.batches b where b.id = $1`,
});

export const LIST_BATCHES = literal({
  name: 'list-batches',
  purpose: 'Read a page of batches, newest first.',
  text: `select ${BATCH_COLUMNS} from holdfast.batches b
where ($1::text is null or b.status = $1) and ($2::uuid is null or b.id < $2) order by b.id desc limit $3`,
});

/** A batch, or null. */
export async function viewBatch(db: ViewDatabase, id: string): Promise<BatchView | null> {
  const [row] = (await db.$client.query<BatchRow>(VIEW_BATCH.prepared([id]))).rows;
  return row === undefined ? null : batchOf(row);
}

/** Batches, newest first. */
export async function listBatches(
  db: ViewDatabase,
  filter: { status?: string | undefined },
  page: PageRequest,
): Promise<Page<BatchView>> {
  const query = LIST_BATCHES.prepared([filter.status ?? null, page.after, page.limit + 1]);
  const { rows } = await db.$client.query<BatchRow>(query);
  return pageOf(rows, page.limit, { item: batchOf, key: (row) => row.id });
}

type BatchRow = Pick<
  BatchView,
  | 'id'
  | 'name'
  | 'status'
  | 'outcome'
  | 'pauseReason'
  | 'pauseDetail'
  | 'via'
  | 'agentId'
  | 'concurrency'
  | 'weight'
  | 'pilot'
  | 'maxFailurePercent'
  | 'deadlineAt'
  | 'ratePerMinute'
  | 'usage'
  | 'costMicros'
  | 'unpricedCalls'
  | 'simulated'
  | 'createdBy'
  | 'createdAt'
  | 'startedAt'
  | 'endedAt'
> & {
  total: number;
  inFlight: number;
  answered: number;
  silent: number;
  failed: number;
  cancelled: number;
  expired: number;
  reservedMicros: number;
  maxCostMicros: number | null;
  nowMs: number;
  flight: { running: number; parked: number } | null;
  errors: BatchView['errors'] | null;
};

function batchOf(row: BatchRow): BatchView {
  const { total, inFlight, answered, silent, failed, cancelled, expired, flight, nowMs, ...rest } = row;
  const { reservedMicros, maxCostMicros, errors, ...shown } = rest;
  const { running, parked } = flight ?? { running: 0, parked: 0 };
  const ended = endedOf({ answered, silent, failed, cancelled, expired });
  // The count of the batch and its items are of one moment; an item that has just ended still counts as in flight.
  const waiting = Math.max(0, inFlight - running - parked);
  const pending = total - inFlight - ended;
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = shown.usage;
  const promptTokens = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    ...shown,
    counts: { total, pending, waiting, running, parked, answered, silent, failed, cancelled, expired },
    eta: shown.status === 'running' ? etaView(total - ended, shown.ratePerMinute, nowMs) : null,
    costUsd: dollarsOrNull(shown.costMicros),
    reservedUsd: reservedMicros / MICROS,
    wastedUsd: 0,
    maxCostUsd: dollarsOrNull(maxCostMicros),
    liveCostUsd: shown.via === 'live' ? dollarsOrNull(shown.costMicros) : null,
    savedPercent: shown.via === 'live' ? 0 : null,
    cacheHitRate: promptTokens === 0 ? null : cacheReadTokens / promptTokens,
    hops: [],
    errors: errors ?? [],
  };
}

function etaView(left: number, ratePerMinute: number | null, nowMs: number): BatchView['eta'] {
  const eta = etaOf(left, ratePerMinute, nowMs);
  return eta === null ? null : { from: new Date(eta.fromMs).toISOString(), to: new Date(eta.toMs).toISOString() };
}

function dollarsOrNull(micros: number | null): number | null {
  return micros === null ? null : micros / MICROS;
}

export interface BatchItemView {
  n: number;
  customId: string | null;
  sessionKey: string;
  status: ItemStatus;
  attempt: number;
  messageId: string | null;
  turnId: string | null;
  error: unknown;
  costUsd: number | null;
  why: Why | null;
}

const ITEM_STATUS_SQL = `case when i.status <> 'fed' then i.status when x.status = 'waiting' then 'waiting'
    when t.status = 'parked' then 'parked' else 'running' end`;

// A pending item of a paused batch waits for the batch; one in flight for what its turn waits for.
const ITEM_WHY_SQL = `case when i.status = 'fed' then ${whySql('x.turn_id')}
    when i.status = 'pending' and b.status = 'paused' then json_build_object('code', 'batch_paused',
      'text', coalesce(b.pause_detail, 'The batch is paused.'), 'since', ${isoSql('b.paused_at')}, 'until', null, 'by', b.pause_reason) end`;

export const LIST_ITEMS = literal({
  name: 'list-batch-items',
  purpose: 'Read a page of the items of a batch, in input order. $2 to $4 filter by status, code and text.',
  text: `select i.n, i.custom_id as "customId", i.session_key as "sessionKey", ${ITEM_STATUS_SQL} as status, i.attempt,
  i.message_id as "messageId", coalesce(i.turn_id, x.turn_id) as "turnId", i.error, i.cost_micros::float8 as "costMicros",
  ${ITEM_WHY_SQL} as why
from holdfast.batches b join holdfast.batch_items i on i.batch_id = b.id
left join holdfast.inbox x on x.id = i.message_id and i.status = 'fed' left join holdfast.turns t on t.id = x.turn_id
where b.id = $1 and ($2::text is null or ${ITEM_STATUS_SQL} = $2) and ($3::text is null or i.error_code = $3)
  and ($4::text is null or strpos(i.custom_id, $4) > 0 or strpos(i.session_key, $4) > 0 or strpos(i.body ->> 'text', $4) > 0)
  and ($5::int is null or i.n > $5)
order by i.n limit $6`,
});

/** The items of a batch, in input order. */
export async function listItems(
  db: ViewDatabase,
  filter: { batchId: string; status?: string | undefined; code?: string | undefined; q?: string | undefined },
  page: PageRequest,
): Promise<Page<BatchItemView>> {
  const { batchId, status, code, q } = filter;
  const after = page.after === null ? null : Number(page.after);
  const query = LIST_ITEMS.prepared([batchId, status ?? null, code ?? null, q ?? null, after, page.limit + 1]);
  const { rows } = await db.$client.query<Omit<BatchItemView, 'costUsd'> & { costMicros: number | null }>(query);
  return pageOf(rows, page.limit, {
    item: ({ costMicros, ...item }) => ({ ...item, costUsd: dollarsOrNull(costMicros) }),
    key: (row) => String(row.n),
  });
}

export interface ItemResult {
  n: number;
  customId: string | null;
  status: ItemStatus;
  reply: string | null;
  error: unknown;
  sessionKey: string;
  messageId: string | null;
  turnId: string | null;
  attempt: number;
  usage: TokenUsage;
  costUsd: number | null;
}

// Each page reads a range of numbers, so that a batch of which little has ended costs no more.
export const BATCH_RESULTS = literal({
  name: 'batch-results',
  purpose:
    'Read results of the items with numbers over $2 up to $3, in input order; $4: also of those that have not ended.',
  text: `select i.n, i.custom_id as "customId", ${ITEM_STATUS_SQL} as status,
  case when i.status = 'answered' then coalesce(x.reply, t.reply) end as reply, i.error, i.session_key as "sessionKey",
  i.message_id as "messageId", coalesce(i.turn_id, x.turn_id) as "turnId", i.attempt, ${USAGE_SQL('i')} as usage,
  i.cost_micros::float8 / ${MICROS} as "costUsd"
from holdfast.batch_items i left join holdfast.inbox x on x.id = i.message_id left join holdfast.turns t on t.id = x.turn_id
where i.batch_id = $1 and i.n > $2 and i.n <= $3 and ($4::boolean or i.status not in ('pending', 'fed')) order by i.n`,
});

/** The results of a range of items, in input order. */
export async function readResults(
  db: ViewDatabase,
  range: { batchId: string; afterN: number; toN: number; all: boolean },
): Promise<ItemResult[]> {
  const query = BATCH_RESULTS.prepared([range.batchId, range.afterN, range.toN, range.all]);
  return (await db.$client.query<ItemResult>(query)).rows;
}
