// The load of every benchmark: each session sends its next message as soon as the one before is
// answered. The same loop drives the floor, the service and the peers.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { formatNumber } from './bar.ts';
import { medianOf, quantile } from './statistics.ts';

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
  /**
   * Spreads the sessions' first turns evenly over this time; otherwise turns of equal length stay
   * in step. Default 0.
   */
  spreadMs?: number;
  turn: (session: Session) => Promise<void>;
}

/**
 * Runs `turnsEach` turns in each of the sessions, all sessions concurrently. Rejects with the first
 * turn that fails.
 */
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

/** Rate and latencies for the reader: of each the median of the runs. */
export function describeLoads(runs: readonly LoadResult[]): string {
  const [rate, p50, p99] = [
    medianOf(runs, (one) => one.turnsPerSecond),
    medianOf(runs, (one) => one.p50Ms),
    medianOf(runs, (one) => one.p99Ms),
  ];
  return `${formatNumber(rate)}/s, p50 ${p50.toFixed(0)} p99 ${p99.toFixed(0)} ms`;
}
