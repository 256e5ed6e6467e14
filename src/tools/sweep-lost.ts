// Finds background commands whose worker has crashed: their rows are closed as `lost`, their sessions are notified, and where the process
// is on this machine and certainly the same, its group is ended. Any worker may do it for all.
import type { Logger } from '../logger.ts';
import { endProcessGroup, machineName, readStartedTicks } from './process-group.ts';
import type { ProcessStore } from './process-port.ts';

/** Between TERM and KILL. */
const KILL_GRACE_MS = 2_000;

/** Closes the rows of lost commands and ends their processes. */
export async function sweepLost({
  store,
  logger,
}: {
  store: Pick<ProcessStore, 'takeLost'>;
  logger: Pick<Logger, 'warn'>;
}): Promise<void> {
  for (const { id, machine, pid, startedTicks } of await store.takeLost()) {
    logger.warn({ processId: id }, 'Background command was lost');
    if (pid === null || startedTicks === null || machine !== (await machineName())) continue;
    if ((await readStartedTicks(pid)) === startedTicks) await endProcessGroup(pid, KILL_GRACE_MS);
  }
}
