// The bars of what a turn costs beside other programs and beside its own past, in one place.
// `null`: the figure is printed and not judged.

type Bars<Name extends string | number> = Record<Name, number | null>;

/**
 * Turns per second of agent turns at 64 sessions: at least this part of those of the peer, by where
 * Holdfast has its queue.
 */
export const peerRates: Record<'bullmq' | 'dbos', Bars<'postgres' | 'redis'>> = {
  bullmq: { postgres: 0.5, redis: 0.6 },
  dbos: { postgres: null, redis: null },
};

/** The median of an agent turn alone: at most so many times that of the peer. */
export const peerTimes: Record<'bullmq' | 'dbos', Bars<'postgres' | 'redis'>> = {
  bullmq: { postgres: null, redis: null },
  dbos: { postgres: null, redis: null },
};

/**
 * Turns per second of plain turns, by the number of sessions: at least this part of those of the
 * earlier commit.
 */
export const earlierRates: Record<'cold' | 'warm', Bars<1 | 8 | 32 | 128>> = {
  cold: { 1: null, 8: null, 32: null, 128: null },
  warm: { 1: null, 8: null, 32: 0.55, 128: 0.55 },
};

/**
 * Transactions of PostgreSQL per plain turn at 64 sessions with the queue in it, at most, by the
 * number of processes.
 */
export const plainTransactions: Bars<1 | 4> = { 1: 6, 4: 8 };

/** Statements that a service without any work sends per second and process, at most. */
export const idleStatements: number | null = 5;

/**
 * From the answer of one process to the start of the turn in another, at the median, in
 * milliseconds at most.
 */
export const ringMs: number | null = 50;
