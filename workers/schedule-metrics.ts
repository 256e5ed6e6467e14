// A scheduler's metrics of crons and heartbeats.
import { Counter, Histogram, type Registry } from 'prom-client';

const LAG_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600];

export interface ScheduleMeter {
  /** This many slots of a cron were fired, missed or skipped. */
  cronFired: (status: 'fired' | 'missed' | 'skipped', slots: number) => void;
  /** A slot was fired so long after its time. */
  cronLagged: (lagMs: number) => void;
  /** A poll was settled: `made`, or why it was not. */
  polled: (result: string) => void;
}

/** Adds the metrics to the registry. */
export function createScheduleMetrics(registry: Registry): ScheduleMeter {
  const registers = [registry];
  const fires = new Counter({
    name: 'holdfast_cron_fires_total',
    help: 'Cron slots, by status',
    labelNames: ['status'] as const,
    registers,
  });
  const lag = new Histogram({
    name: 'holdfast_cron_lag_seconds',
    help: 'Delay of cron fires',
    buckets: LAG_SECONDS,
    registers,
  });
  const polls = new Counter({
    name: 'holdfast_heartbeats_total',
    help: 'Heartbeats: `made`, or the reason why no poll was made',
    labelNames: ['result'] as const,
    registers,
  });
  return {
    cronFired: (status, slots) => fires.inc({ status }, slots),
    cronLagged: (lagMs) => lag.observe(Math.max(0, lagMs) / 1000),
    polled: (result) => polls.inc({ result }),
  };
}
