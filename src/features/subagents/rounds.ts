import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { every, OFTEN, TIDY_ROUND_MS } from '../../kernel/queue/start-rounds.ts';
import { endOverdue, endStalled, HAS_DEADLINE_SOON_SQL } from './store/overdue.ts';

export function openDeadlineRounds({ service }: Pick<Process, 'service'>): ProcessPart {
  const round = async (): Promise<number | void> => service.publish(await endOverdue(service)).nextInMs ?? undefined;
  const failure = 'Runs and waits of subagents could not be ended at their deadlines; the next round retries';
  return { rounds: [{ work: { sql: HAS_DEADLINE_SOON_SQL }, round, pauseMs: OFTEN, failure }] };
}

export function openStalledRounds({ service, logger }: Pick<Process, 'service' | 'logger'>): ProcessPart {
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
