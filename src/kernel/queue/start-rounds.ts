// Work that a process repeats until it ends: a round, a pause, the next round (docs/decisions/0077). Any number of processes may, and the database
// decides which of them takes what. A round that a crash has broken off is done again by the next one.
import { pause } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { workOff } from '../../work-off.ts';

export interface Rounds {
  database: Database;
  /** Resolves with true when there was work, and the next round follows after the shortest pause. */
  round: (signal: AbortSignal) => Promise<boolean | void>;
  /** The message of the warning when a round has failed. The next one follows. */
  failure: string;
  /** The pauses in milliseconds: before the first round, after one with work, and at most while there is none; each is twice the last. */
  pauseMs: { first: number; min: number; max: number };
}

/** Starts the rounds. Returns the function that ends them after the round in progress. */
export function startRounds({ database, round, failure, pauseMs }: Rounds): () => Promise<void> {
  const stopped = new AbortController();
  const { signal } = stopped;
  const running = (async () => {
    let waitMs = 0;
    for (await pause(pauseMs.first, signal); !signal.aborted; await pause(waitMs, signal)) {
      try {
        waitMs = (await round(signal)) ? pauseMs.min : Math.min(Math.max(waitMs * 2, pauseMs.min), pauseMs.max);
      } catch (error) {
        waitMs = pauseMs.max;
        database.outages.report(error, failure);
      }
    }
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

/** The shortest pause between two statements that delete old rows: turns need the connections too. */
export const BREATH_MS = 200;

/** Rounds that delete old rows (`what` they are, in the plural) in portions, which resolve with whether there is more. */
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
