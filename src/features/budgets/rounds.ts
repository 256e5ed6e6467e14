// Budgets in a process, and the rounds of a scheduler: what calls have cost that no process has settled, reservations that a crash has left, and turns that
// wait for room.
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import { workOff } from '../../work-off.ts';
import { budgetBookOf, openBudgets, storeBudgets } from './open-budgets.ts';
import { releaseReservations } from './store/release-reservations.ts';
import { settleLeftCosts } from './store/settle-costs.ts';
import { wakeBudgetWaiters } from './store/wake-waiters.ts';

const TIDY_MS = 5_000;

export async function openBudgetBook({ service, live }: Process): Promise<ProcessPart> {
  const stop = await openBudgets(service);
  live.follow({ store: (next) => storeBudgets({ ...service, config: next }) });
  return { stop };
}

export function openBudgetRounds({ service }: Pick<Process, 'service'>): ProcessPart {
  const { database, publish } = service;
  async function round(signal: AbortSignal): Promise<void> {
    if (!budgetBookOf(service).wasInUse) return;
    await settleLeftCosts(database);
    await workOff(() => releaseReservations(database), { signal });
    publish(await wakeBudgetWaiters(database));
  }
  const pauseMs = { ...every(TIDY_MS), first: 0 };
  return { rounds: [{ round, pauseMs, failure: 'Budgets could not be tidied; the next round retries' }] };
}
