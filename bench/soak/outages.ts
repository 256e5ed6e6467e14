// The outages of a soak: the model, PostgreSQL and Redis, each stopped twice, one at a time, evenly
// over the run.
import { setTimeout as delay } from 'node:timers/promises';
import type { Dependency, Stage } from './stage.ts';

export interface Outage {
  name: Dependency;
  /** From the start of the run, in milliseconds. */
  startMs: number;
  ms: number;
  /** When it began, epoch milliseconds; null: it has not. */
  beganAt: number | null;
  isOver: boolean;
}

const order: Dependency[] = ['model', 'PostgreSQL', 'Redis', 'model', 'PostgreSQL', 'Redis'];
/** Of a run of 30 minutes or more. */
const outageMsMax = 60_000;
/** Of a shorter run, each outage takes such a part; all six are half of it. */
const partsOfRun = 12;

/** The times of the outages, for a run of this many milliseconds. */
export function planOutages(runMs: number): Outage[] {
  const ms = Math.min(outageMsMax, Math.round(runMs / partsOfRun));
  const pauseMs = (runMs - order.length * ms) / (order.length + 1);
  return order.map((name, index) => ({
    name,
    startMs: Math.round(pauseMs + index * (pauseMs + ms)),
    ms,
    beganAt: null,
    isOver: false,
  }));
}

/** Plays them one after the other, beginning now. */
export async function playOutages(stage: Stage, outages: readonly Outage[]): Promise<void> {
  const begin = performance.now();
  for (const outage of outages) {
    await delay(Math.max(0, outage.startMs - (performance.now() - begin)));
    outage.beganAt = Date.now();
    await stage.takeAway(outage.name);
    await delay(outage.ms);
    await stage.bringBack(outage.name);
    outage.isOver = true;
  }
}
