// The only caller of the doorbell and of the wake: it carries out what a committed write returned as `after`. Nothing waits for it, because
// the rows are committed: a wake-up that is lost costs a poll, and a ring that is lost costs the interval of the reconciler (G22).
import type { Doorbell } from '../../../jobs/ring.ts';
import type { AfterCommit, Publish, Ring } from './after-commit.ts';
import type { Wake } from './wake.ts';

export interface PublishParts {
  wake: Pick<Wake, 'committed'>;
  doorbell: Pick<Doorbell, 'ring'>;
}

export function createPublish(parts: PublishParts): Publish {
  return (result) => {
    for (const { after } of [result ?? []].flat()) if (after !== undefined) publish(parts, after);
    return result;
  };
}

function publish({ wake, doorbell }: PublishParts, { changed, settled, rings }: AfterCommit): void {
  for (const sessionId of changed) wake.committed(sessionId, 'progress');
  for (const sessionId of settled ?? []) wake.committed(sessionId, 'settlement');
  const due = rings.filter((ring) => dueInMs(ring) === 0);
  if (due.length > 0) void doorbell.ring(due);
  for (const ring of rings) {
    // Lost with the process: the row says when the session is due, and the reconciler rings.
    if (dueInMs(ring) > 0) setTimeout(() => void doorbell.ring([ring]), dueInMs(ring)).unref();
  }
}

function dueInMs(ring: Ring): number {
  return ring.kind === 'deliver' ? 0 : (ring.dueInMs ?? 0);
}
