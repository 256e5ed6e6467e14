// The rounds of a scheduler that copy the turns of data sets, where a request has not done it.
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { OFTEN } from '../../kernel/queue/start-rounds.ts';
import { copyItems } from './copy-items.ts';
import { HAS_COPIES_SQL } from './store/copy-turns.ts';

/** Items of one round. */
const ROUND_ITEMS = 200;

export function openCopyRounds({ service, openModel }: Pick<Process, 'service' | 'openModel'>): ProcessPart {
  return {
    rounds: [
      {
        work: { sql: HAS_COPIES_SQL },
        round: async (signal) => (await copyItems(service, { limit: ROUND_ITEMS, openModel, signal })) > 0,
        pauseMs: OFTEN,
        failure: 'Turns could not be copied into data sets; the next round retries',
      },
    ],
  };
}
