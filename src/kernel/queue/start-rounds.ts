// Work that a process repeats until it ends: a round, a pause, the next round
// (docs/decisions/0077). Any number of processes may, and the database decides which of them takes
// what. A round that a crash has broken off is done again by the next one.
import { pause } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { workOff } from '../../work-off.ts';
import { createWorkWatch, type WorkQuestion, type WorkWatch } from './work-watch.ts';

export interface Rounds {
  database: Database;
  /** Asks whether there is work, for all rounds of the process. */
  watch?: WorkWatch;
  /**
   * Whether there may be work: after the longest pause, a round is begun only then. Absent: it is
   * always begun.
   */
  work?: WorkQuestion;
  /**
   * Resolves with true when there was work, and the next round follows after the shortest pause;
   * with a number when there will be work in so many milliseconds, and the next round follows then,
   * or after the longest pause.
   */
  round: (signal: AbortSignal) => Promise<boolean | number | void>;
  /** The message of the warning when a round has failed. The next one follows. */
  failure: string;
  /**
   * The pauses in milliseconds: before the first round, after one with work, and at most while
   * there is none; each is twice the last.
   */
  pauseMs: { first: number; min: number; max: number };
}

/** Starts the rounds. Returns the function that ends them after the round in progress. */
export function startRounds(rounds: Rounds): () => Promise<void> {
  const { database, watch = createWorkWatch(database), work, round, failure, pauseMs } = rounds;
  const stopped = new AbortController();
  const { signal } = stopped;
  const ask = work && watch.add(work);
  let waitMs = 0;

  async function attempt(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      waitMs = pauseMs.max;
      database.outages.report(error, failure);
    }
  }

  /** One pause and the round after it, if there is one. */
  async function goOn(restMs: number): Promise<void> {
    if (ask === undefined || restMs < pauseMs.max) await pause(restMs, signal);
    else if (!(await ask(restMs, signal))) {
      waitMs = pauseMs.max;
      return;
    }
    if (signal.aborted) return;
    const next = await round(signal);
    const longerMs = Math.max(waitMs * 2, pauseMs.min);
    waitMs = next === true ? pauseMs.min : Math.min(typeof next === 'number' ? next : longerMs, pauseMs.max);
  }

  const running = (async () => {
    await attempt(() => goOn(pauseMs.first));
    while (!signal.aborted) await attempt(() => goOn(waitMs));
  })();
  return async () => {
    stopped.abort();
    await running;
  };
}

/** The pauses of rounds that usually have work more than once per second. */
export const OFTEN: Rounds['pauseMs'] = { first: 0, min: 10, max: 1_000 };

/** The pause between two searches for old rows and stopped work. */
export const TIDY_ROUND_MS = 60_000;

/**
 * The shortest pause between two statements that delete old rows: turns need the connections too.
 */
export const BREATH_MS = 200;

/**
 * Rounds that delete old rows (`what` they are, in the plural) in portions, which resolve with
 * whether there is more.
 */
export function trims(
  what: string,
  portion: () => Promise<boolean>,
  everyMs = TIDY_ROUND_MS,
): Omit<Rounds, 'database'> {
  return {
    round: (signal) => workOff(portion, { signal, pauseMs: BREATH_MS }),
    pauseMs: every(everyMs),
    failure: `Old ${what} could not be deleted; the next round retries`,
  };
}

/** The pauses of rounds that follow each other evenly. */
export function every(ms: number): Rounds['pauseMs'] {
  return { first: ms, min: ms, max: ms };
}
