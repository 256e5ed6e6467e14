// Doorbells and rings: the SQL that inserts a doorbell for work that has been stored and makes it
// due, the rings of its answer, which name the number that the doorbell had then, and `publish`,
// which carries out what follows from a commit.
import type { AfterCommit, DeliveryRing, TurnRing, Publish, Ring } from './after-commit.ts';
import type { Lane } from '../../config.ts';
import type { SessionId } from '../../core/ids.ts';
import type { Doorbell } from '../../../jobs/ring.ts';

/**
 * The columns of a doorbell that a statement has rung or made; null when the session needs no ring.
 */
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

/**
 * The consequence of a write to one session: its waiters check, and it is rung for if the row says
 * so.
 */
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

/** A ring that a session needs: the id of its job follows from these. */
export interface NeededRing {
  sessionId: SessionId;
  lane: Lane;
  ringNo: number;
}

/** SQL of the rings of a CTE `rung_doorbells`: a list of `NeededRing`. */
export const RINGS_SQL = `(select coalesce(json_agg(json_build_object('sessionId', session_id, 'lane', lane, 'ringNo', rings)), '[]') from rung_doorbells)`;

/** The consequence of making the turns of these sessions due. */
export function afterOfRings(needed: readonly NeededRing[]): AfterCommit {
  return {
    changed: needed.map(({ sessionId }) => sessionId),
    rings: needed.map((ring) => ({ kind: 'inbound', ...ring })),
  };
}

/**
 * SQL of the first ring number of a doorbell, from a row of `holdfast.sessions`. No number is used
 * twice: the queue drops a job whose id it still has, even one that is just ending. Inbox number
 * and epoch only grow; in between there is room for a million rings.
 */
export function firstRingSql(alias: string): string {
  return `((${alias}.inbox_seq + ${alias}.epoch) << 20)`;
}

/**
 * SQL that inserts the doorbells of sessions that have got an input, from the rows of a CTE
 * (`sessions` as they are after the change) for which `condition` holds of `s`; answers those that
 * were missing. A session that has one is due already, or at the time that it names.
 */
export function ringSql(
  cte: string,
  { lane = 's.lane', condition }: { lane?: string; condition?: string } = {},
): string {
  return `insert into holdfast.doorbells (session_id, lane, rings)
  select s.id, ${lane}, ${firstRingSql('s')} from ${cte} s${condition === undefined ? '' : ` where ${condition}`}
  on conflict (session_id) do nothing
  returning session_id, lane, rings`;
}

/**
 * The time that the queue is given for each of the rings that one statement answers. It needs 0.6
 * ms on a machine with a load of 20.
 */
const RING_MS = 2;

/**
 * SQL that makes sessions due, from the rows of a CTE (`sessions` as they are after the change) for
 * which `condition` holds of `s`. A turn that is parked for an unknown time has no doorbell: then
 * it is inserted. Of 10,000 rings the last is in the queue seconds after the first: each counts as
 * rung when it is there at the latest, else the reconciler would repeat those that are still being
 * added.
 */
export function wakeSql(cte: string, condition: string): string {
  return `insert into holdfast.doorbells as d (session_id, lane, rings, rung_at)
  select s.id, s.lane, ${firstRingSql('s')}, now() + (row_number() over () - 1) * ${RING_MS} * interval '1 millisecond' from ${cte} s where ${condition}
  on conflict (session_id) do update set rings = d.rings + 1, rung_at = excluded.rung_at, due_at = least(d.due_at, now())
  returning d.session_id, d.lane, d.rings`;
}

/**
 * The CTE that rings again for the waiting messages of `updated_sessions`, which was taken from the
 * worker that had claimed it.
 */
export const RUNG_AGAIN_SQL = `rung_doorbells as (
  update holdfast.doorbells d set rings = d.rings + 1, rung_at = now(), due_at = least(d.due_at, now())
  from updated_sessions where d.session_id = updated_sessions.id and updated_sessions.waiting > 0
  returning d.session_id, d.lane, d.rings
)`;

// The wake: reports inside one process that something of a session was committed, so that a waiting
// request checks immediately instead of at its next poll. Nothing depends on it.

/** The kind of commit: a step of a turn, or one that settles messages. */
export type CommitKind = 'progress' | 'settlement';

export type CommitListener = (sessionId: string, what: CommitKind) => void;

export interface Wake {
  /** Notifies every listener. */
  committed(sessionId: string, what: CommitKind): void;
  /** Adds a listener and returns the function that removes it. A listener must not throw. */
  onCommit(listener: CommitListener): () => void;
}

/** Makes the wake of a process. */
export function createWake(): Wake {
  const listeners = new Set<CommitListener>();
  return {
    committed(sessionId, what) {
      for (const listener of listeners) listener(sessionId, what);
    },
    onCommit(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

// The only caller of the doorbell and of the wake: it carries out what a committed write returned
// as `after`. Nothing waits for it, because the rows are committed: a wake-up that is lost costs a
// poll, and a ring that is lost costs the interval of the reconciler (G22).

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
