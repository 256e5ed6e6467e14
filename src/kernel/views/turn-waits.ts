// What a turn by itself shows beside its steps: its attempts, and the spans of its time that rows
// of other tables hold.
import type { AttemptView, SpanView } from '../../contract/views.ts';
import type { Why } from '../rules/why.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { ViewDatabase } from '../../database/page.ts';

interface WaitsRow {
  id: string;
  attempts: (Omit<AttemptView, 'renewedAt'> & { code: string | null })[];
  /** When its inputs were received that its prompt has, in their order. */
  received: string[];
  /** The turns before and after it in its session. */
  previous: { id: string; endedAt: string | null } | null;
  nextId: string | null;
  deliveries: { channel: string; createdAt: string; settledAt: string | null }[];
  announcement: { receivedAt: string; settledAt: string | null } | null;
}

export const readWaits = viewQuery({
  name: 'turn-waits',
  purpose: 'Read the ended attempts of turns, and what their sessions did before and after them.',
  text: `select t.id, coalesce((select json_agg(json_build_object('attempt', a.attempt, 'worker', a.worker, 'epoch', a.epoch,
      'claimedAt', ${isoSql('a.claimed_at')}, 'endedAt', ${isoSql('a.ended_at')}, 'how', a.how, 'code', a.code) order by a.epoch)
    from holdfast.turn_attempts a where a.turn_id = t.id), '[]') as attempts,
  coalesce((select json_agg(${isoSql('i.received_at')} order by i.received_at) from holdfast.inbox i
    where i.turn_id = t.id and i.received_at <= t.started_at), '[]') as received,
  (select json_build_object('id', p.id, 'endedAt', ${isoSql('p.ended_at')}) from holdfast.turns p
    where p.session_id = t.session_id and p.id < t.id order by p.id desc limit 1) as previous,
  (select n.id from holdfast.turns n where n.session_id = t.session_id and n.id > t.id order by n.id limit 1) as "nextId",
  coalesce((select json_agg(json_build_object('channel', d.channel, 'createdAt', ${isoSql('d.created_at')},
      'settledAt', ${isoSql('d.settled_at')}) order by d.seq)
    from holdfast.deliveries d where d.session_id = t.session_id and d.turn_id = t.id), '[]') as deliveries,
  (select json_build_object('receivedAt', ${isoSql('i.received_at')}, 'settledAt', ${isoSql('i.settled_at')})
    from holdfast.subagent_runs r join holdfast.inbox i on i.cause_key = 'announce:' || r.id
    where r.child_id = t.session_id and r.ended_at between t.started_at and t.ended_at + interval '1 second'
    order by r.ended_at limit 1) as announcement
from holdfast.turns t where t.id = any ($1::uuid[])`,
  values: (turnIds: string[]) => [turnIds],
  answer: (rows: WaitsRow[]) => new Map(rows.map((row) => [row.id, row])),
});

/**
 * The attempts of a turn, its neighbours in the session, and the spans of its waits and of the work
 * that followed it.
 */
export interface TurnWaits {
  attempts: AttemptView[];
  previousTurnId: string | null;
  nextTurnId: string | null;
  spans: SpanView[];
}

/** The facts of the turn and its last attempt. */
type TurnNow = Omit<AttemptView, 'how' | 'renewedAt'> & { id: string; status: string; why: Why | null };

/**
 * Reads them, by the ids of the turns. `leaseMs`: how long the leases of their workers are; 0: that
 * is not known.
 */
export async function viewWaits(
  db: ViewDatabase,
  turns: readonly TurnNow[],
  leaseMs = 0,
): Promise<Map<string, TurnWaits>> {
  const ids = turns.map(({ id }) => id);
  const found = await readWaits(db, ids);
  return new Map(turns.map((turn) => [turn.id, toWaits(found.get(turn.id), turn, leaseMs)]));
}

function toWaits(row: WaitsRow | undefined, turn: TurnNow, leaseMs: number): TurnWaits {
  if (row === undefined) return { attempts: [], previousTurnId: null, nextTurnId: null, spans: [] };
  const [first = turn] = row.attempts;
  const attempts = [...row.attempts, { ...turn, how: null }].map((one) => toAttempt(one, leaseMs));
  return {
    attempts,
    previousTurnId: row.previous?.id ?? null,
    nextTurnId: row.nextId,
    spans: [...before(row, first), ...between(row, attempts, turn), ...after(row)],
  };
}

function toAttempt(ended: Omit<AttemptView, 'renewedAt'>, leaseMs: number): AttemptView {
  const { attempt, worker, epoch, claimedAt, endedAt, how } = ended;
  const renewedMs = how === 'lost' && endedAt !== null ? Date.parse(endedAt) - leaseMs : null;
  const renewedAt = renewedMs === null ? null : new Date(Math.max(renewedMs, Date.parse(claimedAt))).toISOString();
  return { attempt, worker, epoch, claimedAt, endedAt, how, renewedAt };
}

function before({ received, previous }: WaitsRow, { claimedAt }: Pick<AttemptView, 'claimedAt'>): SpanView[] {
  const [first, last] = [received[0], received.at(-1)];
  if (first === undefined || last === undefined) return [];
  const spans = [span('accept', 'message', first, first)];
  if (last > first) spans.push(span('gather', `${received.length} messages`, first, last));
  const previousEnd = previous?.endedAt ?? null;
  if (previousEnd !== null && previousEnd > first)
    spans.push(span('lock.wait', 'earlier turn', first, previousEnd < claimedAt ? previousEnd : claimedAt));
  return spans;
}

/**
 * From the end of each attempt to the claim of the next; from the last sign of a worker that was
 * lost.
 */
function between({ attempts: ended }: WaitsRow, attempts: readonly AttemptView[], turn: TurnNow): SpanView[] {
  const waits = attempts.flatMap(({ endedAt, how, renewedAt }, at) => {
    const next = attempts[at + 1]?.claimedAt;
    if (next === undefined || endedAt === null || how === 'released') return [];
    return how === 'lost'
      ? [span('worker.lost', 'worker', renewedAt ?? endedAt, next)]
      : [parked(ended[at]?.code ?? 'parked', endedAt, next)];
  });
  if (turn.why === null) return waits;
  const { code, since } = turn.why;
  if (turn.status === 'parked') return [...waits, parked(code, since, null)];
  // The disk says nothing about the worker.
  return code === 'storage_unavailable' ? waits : [...waits, span('worker.lost', 'worker', since, null)];
}

function parked(code: string, startedAt: string, endedAt: string | null): SpanView {
  return span(code === 'rate_limited' ? 'rate.wait' : 'provider.wait', code, startedAt, endedAt);
}

function after({ deliveries, announcement }: WaitsRow): SpanView[] {
  const delivered = deliveries.map(({ channel, createdAt, settledAt }) =>
    span('deliver', channel, createdAt, settledAt),
  );
  if (announcement === null) return delivered;
  return [...delivered, span('announce', 'parent', announcement.receivedAt, announcement.settledAt)];
}

function span(kind: SpanView['kind'], name: string, startedAt: string, endedAt: string | null): SpanView {
  return { kind, name, n: null, startedAt, endedAt };
}
