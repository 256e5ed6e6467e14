// Rings as the rows of statements name them.
import type { AfterCommit, DeliveryRing, TurnRing } from './after-commit.ts';
import type { Lane } from '../../config.ts';
import type { SessionId } from '../../core/ids.ts';

/** The columns of a doorbell that a statement has rung or made; null when the session needs no ring. */
export interface RungColumns {
  lane: Lane | null;
  rings: string | null;
}

/** The ring of a row, as a list of one; empty when its session needs none. */
export function buildRings(
  kind: TurnRing['kind'],
  sessionId: SessionId,
  { lane, rings }: RungColumns,
  priority = 0,
): TurnRing[] {
  if (lane === null || rings === null) return [];
  return [{ kind, sessionId, lane, ringNo: Number(rings), ...(priority === 0 ? {} : { priority }) }];
}

/** The ring for a delivery that was stored just now: the number leaves room for its attempts. */
export function deliveryRing(sessionId: SessionId, seq: string | number | null): DeliveryRing {
  return { kind: 'deliver', sessionId, ringNo: Number(seq) * 1000 };
}

/** The consequence of a write to one session: its waiters check, and it is rung for if the row says so. */
export function buildAfter(
  kind: TurnRing['kind'],
  sessionId: SessionId,
  row: RungColumns,
  priority?: number,
): AfterCommit {
  return { changed: [sessionId], rings: buildRings(kind, sessionId, row, priority) };
}

/** The consequence of a write that changes a session and needs no ring. */
export function buildChange(sessionId: SessionId): AfterCommit {
  return { changed: [sessionId], rings: [] };
}

/** The combined consequence of several writes. */
export function mergeAll(results: readonly { after?: AfterCommit }[]): AfterCommit {
  const afters = results.flatMap(({ after }) => after ?? []);
  return {
    changed: afters.flatMap(({ changed }) => changed),
    settled: afters.flatMap(({ settled }) => settled ?? []),
    rings: afters.flatMap(({ rings }) => rings),
  };
}
