// The rounds of bulk actions in a scheduler.
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { OFTEN, trims } from '../../kernel/queue/start-rounds.ts';
import { trimBulkActions } from './store.ts';
import { runBulkRound } from './use-cases.ts';

export function openBulkRounds({ service, logger }: Process): ProcessPart {
  const { database, config } = service;
  const parts = { ...service, logger };
  return {
    rounds: [
      {
        work: { sql: 'exists (select from holdfast.bulk_actions a where a.ended_at is null)' },
        round: () => runBulkRound(parts),
        pauseMs: OFTEN,
        failure: 'Round of bulk actions failed; the next round retries',
      },
      trims('bulk actions', () => trimBulkActions(database, config.batches.retention)),
    ],
  };
}
