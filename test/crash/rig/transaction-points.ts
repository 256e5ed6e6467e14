// The points at which a process holds locks and does nothing: it has the answer of a statement of
// its transaction, and has not sent the next one. They are found in the round trips of real work,
// whichever code sent them; what is sent without waiting for the answer before has no such point.
import type { RoundTrip } from '../../servers/round-trips.ts';
import { kindOf } from './statement-kinds.ts';
import type { Victim } from './victim.ts';

export interface TransactionPoint {
  /** The first statement of the transaction, which says what it is for. */
  transaction: string;
  /** The statement whose answer the process has. */
  statement: string;
  /** How long PostgreSQL lets the transaction be idle; null: forever. */
  idleMs: number | null;
}

export interface TransactionWatch {
  /**
   * Plays, and resolves with the points that occurred meanwhile: of each transaction, in the order
   * of its statements.
   */
  record(play: () => Promise<unknown>): Promise<TransactionPoint[]>;
  /** True for a round trip whose answer is such a point; asked when its request is complete. */
  isAt(trip: RoundTrip, point: TransactionPoint): boolean;
}

interface OpenTransaction {
  first: string | null;
  idleMs: number | null;
  /** Statements without an answer. */
  unanswered: number;
}

const BEGINS = /^begin\b(?!-)/;
const ENDS = /^(?:commit|rollback)\b/;
const SETS = /^set\b/;
const IDLE = /idle_in_transaction_session_timeout\s*(?:=|to)\s*'?(\d+)\s*(ms|s)?\b/;

/** Follows the transactions of these processes from now on. */
export function watchTransactions(victims: readonly Victim[]): TransactionWatch {
  const places = new WeakMap<RoundTrip, TransactionPoint>();
  const seen = new Map<string, TransactionPoint>();
  for (const { proxy } of victims) {
    const open = new Map<number, OpenTransaction>();
    proxy.onRoundTrip((trip) => {
      if (!trip.label.startsWith('holdfast:') || trip.label === 'holdfast:queue') return;
      const [text = ''] = trip.sql;
      if (trip.outcome === 'pending' && BEGINS.test(text)) {
        open.set(trip.connection, { first: null, idleMs: idleMsOf(text), unanswered: 1 });
        return;
      }
      const within = open.get(trip.connection);
      if (within === undefined) return;
      if (trip.outcome === 'pending') {
        if (ENDS.test(text)) open.delete(trip.connection);
        within.unanswered += 1;
        if (SETS.test(text)) within.idleMs = idleMsOf(text) ?? within.idleMs;
        if (ENDS.test(text) || SETS.test(text)) return;
        within.first ??= kindOf(trip);
        places.set(trip, { transaction: within.first, statement: kindOf(trip), idleMs: within.idleMs });
        return;
      }
      within.unanswered -= 1;
      const point = places.get(trip);
      if (point !== undefined && within.unanswered === 0 && trip.transactionState === 'T')
        seen.set(nameOfPoint(point), point);
    });
  }
  return {
    async record(play) {
      seen.clear();
      await play();
      return [...seen.values()];
    },
    isAt(trip, point) {
      const place = places.get(trip);
      return place !== undefined && nameOfPoint(place) === nameOfPoint(point);
    },
  };
}

/** A label: `take-effects, after parent-of-run`. */
export function nameOfPoint({ transaction, statement }: TransactionPoint): string {
  return transaction === statement ? transaction : `${transaction}, after ${statement}`;
}

function idleMsOf(text: string): number | null {
  const [, value, unit] = IDLE.exec(text) ?? [];
  return value === undefined ? null : Number(value) * (unit === 's' ? 1_000 : 1);
}
