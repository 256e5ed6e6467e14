// Ends runs that nothing moves any more.
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { every, TIDY_ROUND_MS } from '../../kernel/queue/start-rounds.ts';
import { endStalled } from './store/overdue.ts';

export function openRunRounds({ service, logger }: Process): ProcessPart {
  async function round(): Promise<void> {
    const { runs } = service.publish(await endStalled(service));
    if (runs > 0) logger.error({ runs }, 'Subagents that had stopped without a result were ended');
  }
  return {
    rounds: [
      { round, pauseMs: every(TIDY_ROUND_MS), failure: 'Stalled subagents could not be ended; the next round retries' },
    ],
  };
}
