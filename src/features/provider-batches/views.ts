// Submissions to the provider as the API shows them, newest first.
import { raw, sql } from '../../database/drizzle.ts';
import type { ProviderBatchView } from '../../contract/provider-batches.ts';
import { dollarsSql } from '../../kernel/sessions/cost-sql.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';

const COLUMNS =
  raw(`b.id, b.provider_id as "providerId", b.status, b.is_adopted as "isAdopted", b.request_count as "requestCount", b.counts,
  b.wasted, ${dollarsSql('b.wasted_micros')} as "wastedUsd", b.error ->> 'message' as error, ${isoSql('b.created_at')} as "createdAt",
  ${isoSql('b.submitted_at')} as "submittedAt", ${isoSql('b.expires_at')} as "expiresAt", ${isoSql('b.ended_at')} as "endedAt"`);

/** A submission, or null. */
export async function viewProviderBatch(db: ViewDatabase, id: string): Promise<ProviderBatchView | null> {
  const { rows } = await db.query<ProviderBatchView>(
    sql`select ${COLUMNS} from holdfast.provider_batches b where b.id = ${id}::uuid`,
  );
  return rows[0] ?? null;
}

/** Submissions, newest first. */
export async function listProviderBatches(
  db: ViewDatabase,
  filter: { status?: string | undefined },
  page: PageRequest,
): Promise<Page<ProviderBatchView>> {
  const { status = null } = filter;
  const { rows } = await db.query<ProviderBatchView>(sql`
    select ${COLUMNS} from holdfast.provider_batches b
    where (${status}::text is null or b.status = ${status}) and (${page.after}::uuid is null or b.id < ${page.after}::uuid)
    order by b.id desc limit ${page.limit + 1}`);
  return cutPage(rows, page.limit, ({ id }) => id);
}
