// Ends this process, also while it has threads that hang in calls to a file system. Node waits for
// its threads when it exits, so `process.exit` would never return.
import { pause } from '../clock.ts';

/** How long file calls that are in flight may take to end. */
const CALLS_MS_MAX = 500;
const POLL_MS = 10;

/**
 * Ends it with this exit code, or with SIGKILL when file calls do not end. Everything that matters
 * has to be stored before.
 */
export async function endProcess(code: number): Promise<never> {
  const endsAtMs = performance.now() + CALLS_MS_MAX;
  while (hasFileCalls() && performance.now() < endsAtMs) await pause(POLL_MS);
  if (hasFileCalls()) process.kill(process.pid, 'SIGKILL');
  process.exit(code);
}

function hasFileCalls(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
}
