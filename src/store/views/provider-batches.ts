// Submissions to the provider as the API shows them, newest first.
import type { SubmissionStatus } from '../../core/provider-batch/submission-status.ts';
import { dollarsOf } from '../../core/prices/call-cost.ts';
import { sql } from '../drizzle.ts';
import { isoOf, isoOrNull, pageOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

/** Answers that were paid for and that no turn uses, with their tokens. */
export interface WastedAnswers {
  answers: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
}

export interface ProviderBatchView {
  id: string;
  /** The provider's id; null: it is unknown, or there is none. */
  providerId: string | null;
  status: SubmissionStatus;
  isAdopted: boolean;
  requestCount: number;
  /** The provider's counts of its requests; null: it has not been polled yet. */
  counts: Record<string, number> | null;
  wasted: WastedAnswers | null;
  /** What they cost; null: there are none, or it is not known. */
  wastedUsd: number | null;
  error: string | null;
  createdAt: string;
  submittedAt: string | null;
  expiresAt: string | null;
  endedAt: string | null;
}

const COLUMNS = sql`b.id, b.provider_id, b.status, b.is_adopted, b.request_count, b.counts, b.wasted, b.wasted_micros,
  b.error ->> 'message' as error, b.created_at, b.submitted_at, b.expires_at, b.ended_at`;

/** A submission, or null. */
export async function viewProviderBatch(db: ViewDatabase, id: string): Promise<ProviderBatchView | null> {
  const { rows } = await db.execute<ProviderBatchRow & Record<string, unknown>>(
    sql`select ${COLUMNS} from holdfast.provider_batches b where b.id = ${id}::uuid`,
  );
  const [row] = rows;
  return row === undefined ? null : viewOf(row);
}

/** Submissions, newest first. */
export async function listProviderBatches(
  db: ViewDatabase,
  filter: { status?: string | undefined },
  page: PageRequest,
): Promise<Page<ProviderBatchView>> {
  const { status = null } = filter;
  const result = await db.execute<ProviderBatchRow & Record<string, unknown>>(sql`
    select ${COLUMNS} from holdfast.provider_batches b
    where (${status}::text is null or b.status = ${status}) and (${page.after}::uuid is null or b.id < ${page.after}::uuid)
    order by b.id desc limit ${page.limit + 1}`);
  return pageOf(result.rows, page.limit, { item: viewOf, key: (row) => row.id });
}

interface ProviderBatchRow {
  id: string;
  provider_id: string | null;
  status: SubmissionStatus;
  is_adopted: boolean;
  request_count: number;
  counts: Record<string, number> | null;
  wasted: WastedAnswers | null;
  wasted_micros: string | null;
  error: string | null;
  created_at: Date | string;
  submitted_at: Date | string | null;
  expires_at: Date | string | null;
  ended_at: Date | string | null;
}

function viewOf(row: ProviderBatchRow): ProviderBatchView {
  const at = (time: Date | string | null): string | null => isoOrNull(time === null ? null : new Date(time));
  return {
    id: row.id,
    providerId: row.provider_id,
    status: row.status,
    isAdopted: row.is_adopted,
    requestCount: row.request_count,
    counts: row.counts,
    wasted: row.wasted,
    wastedUsd: row.wasted_micros === null ? null : dollarsOf(Number(row.wasted_micros)),
    error: row.error,
    createdAt: isoOf(new Date(row.created_at)),
    submittedAt: at(row.submitted_at),
    expiresAt: at(row.expires_at),
    endedAt: at(row.ended_at),
  };
}
