// Kills processes at random, one after the other, while something long happens.
import { setTimeout as delay } from 'node:timers/promises';
import { atLeast, type Store } from '../../rows/table.ts';
import { countTurns } from '../../rows/turns.ts';
import type { Victim } from './victim.ts';

interface Killing {
  /** Processes that may be away. */
  alone: readonly Victim[];
  /** Of each of these, one is always alive. */
  groups: readonly (readonly Victim[])[];
  killsMax: number;
  killEveryMs: { min: number; max: number };
  random: () => number;
}

/**
 * Kills up to `killsMax` processes until it is stopped, and restarts each. While a turn has lost two
 * workers none is killed: after the third crash the turn is given up, as G17 requires. `stop`
 * resolves with the names of those that were killed.
 */
export function killAtRandom(
  rows: Store,
  { alone, groups, killsMax, killEveryMs, random }: Killing,
): { stop: () => Promise<string[]> } {
  const kills: string[] = [];
  const ended = new AbortController();
  const isSafe = async (): Promise<boolean> => (await countTurns(rows, { endedAt: null, deaths: atLeast(2) })) === 0;
  const readyOf = (victims: readonly Victim[]): Victim[] => victims.filter(({ isReady }) => isReady);
  const killing = (async () => {
    while (kills.length < killsMax && !ended.signal.aborted) {
      await delay(killEveryMs.min + random() * (killEveryMs.max - killEveryMs.min));
      const able = groups.flatMap((group) => (readyOf(group).length > 1 ? readyOf(group) : []));
      const victims = [...readyOf(alone), ...able];
      const victim = victims[Math.floor(random() * victims.length)];
      if (victim === undefined || ended.signal.aborted || !(await isSafe())) continue;
      await victim.kill();
      kills.push(victim.name);
      void victim.revive().catch(() => undefined);
    }
    await Promise.all([...alone, ...groups.flat()].map((victim) => victim.revive()));
  })();
  return {
    async stop() {
      ended.abort();
      await killing;
      return kills;
    },
  };
}
