// The rounds of batches in a scheduler.
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { OFTEN, trims } from '../../kernel/queue/start-rounds.ts';
import { runBatchRound } from './batch-round.ts';
import { trimBatches } from './store/control.ts';

export function openBatchRounds({ service, logger, tracing }: Process): ProcessPart {
  const { database, config } = service;
  const parts = { ...service, logger, tracing };
  return {
    rounds: [
      {
        round: (signal) => runBatchRound(parts, signal),
        pauseMs: OFTEN,
        failure: 'Round of batches failed; the next round retries',
      },
      trims(() => trimBatches(database, config.batches.retention)),
    ],
  };
}
