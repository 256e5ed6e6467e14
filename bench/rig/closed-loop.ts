// The load of every benchmark: each session sends its next message as soon as the one before is answered. The same loop
// drives the floor and the service.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { quantile } from './statistics.ts';

export interface LoadResult {
  turns: number;
  turnsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  latenciesMs: number[];
}

export interface ClosedLoad<Session> {
  sessions: readonly Session[];
  turnsEach: number;
  /** Spreads the sessions' first turns evenly over this time; else turns of equal length stay in step for ever. Default 0. */
  spreadMs?: number;
  turn: (session: Session) => Promise<void>;
}

/** Runs `turnsEach` turns in each of the sessions, all sessions at once. Rejects with the first turn that fails. */
export async function runClosedLoop<Session>(load: ClosedLoad<Session>): Promise<LoadResult> {
  const spreadMs = load.spreadMs ?? 0;
  const latenciesMs: number[] = [];
  const begin = performance.now();
  await Promise.all(
    load.sessions.map(async (session, index) => {
      if (spreadMs > 0) await delay((spreadMs * index) / load.sessions.length);
      for (let n = 0; n < load.turnsEach; n += 1) {
        const sent = performance.now();
        await load.turn(session);
        latenciesMs.push(performance.now() - sent);
      }
    }),
  );
  const seconds = (performance.now() - begin) / 1000;
  return {
    turns: latenciesMs.length,
    turnsPerSecond: latenciesMs.length / seconds,
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
    latenciesMs,
  };
}
