// Submissions to the provider as the API shows them.
import type { ProviderBatchView } from './contract.ts';
import { dollarsSql } from '../../kernel/sessions/cost-sql.ts';
import { listOf } from '../../database/list-of.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';

export const submissions = listOf<{ status?: string | undefined }, ProviderBatchView>({
  name: 'list-provider-batches',
  purpose: 'Read submissions, newest first.',
  text: `select b.id, b.provider_id as "providerId", b.status, b.is_adopted as "isAdopted", b.request_count as "requestCount", b.counts,
  b.wasted, ${dollarsSql('b.wasted_micros')} as "wastedUsd", b.error ->> 'message' as error, ${isoSql('b.created_at')} as "createdAt",
  ${isoSql('b.submitted_at')} as "submittedAt", ${isoSql('b.expires_at')} as "expiresAt", ${isoSql('b.ended_at')} as "endedAt"
from holdfast.provider_batches b`,
  filters: { status: 'b.status = $status' },
  order: 'b.id desc',
});
