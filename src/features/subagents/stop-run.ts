// Stops the run of a subagent. Workers notice within a second (G24).
import type { Service } from '../../kernel/use-cases/service.ts';
import { killRun, type RunKill } from './store/subagents.ts';

/** Ends a run and, unless they are kept, all runs below it; resolves with how many have ended by it. Null: no such run. */
export async function stopRun(service: Service, run: RunKill): Promise<number | null> {
  const stopped = service.publish(await killRun(service, run));
  if (stopped === null) return null;
  return stopped.kind === 'stopped' ? stopped.runs : 0;
}
