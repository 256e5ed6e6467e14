// Goal: many crons that tick every second are fired once each by three schedulers that are killed
// and paused at random; every slot has an outcome, and each fired slot became one turn (G20).
// Method: let them run, then read the fires, the inbox and the transcripts. With
// HOLDFAST_CRASH_SWEEP=full for a minute.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { countCrons, readCronFires } from '../rows/crons.ts';
import { countEntries } from '../rows/entries.ts';
import { countInputs } from '../rows/inputs.ts';
import { atMost, grouped, not } from '../rows/table.ts';
import { countTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { startScheduledRig, type ScheduledRig } from './rig/scheduled-rig.ts';
import { randomOf, seedOfRun } from './rig/random-of.ts';
import { isFullSweep } from './rig/sweep-points.ts';
import type { Victim } from './rig/victim.ts';
import { waitUntil } from './rig/wait-until.ts';

const cronCount = 20;
const runMs = isFullSweep() ? 60_000 : 12_000;
/** The minimum number of fires of each cron before it is judged. */
const firesMin = 3;
const seed = seedOfRun();
const workedOffWithinMs = 400_000;
const policies = ['run_once', 'run_all', 'skip'] as const;

let rig: ScheduledRig;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const made = await startScheduledRig({
    databaseUrl: testDatabase.url,
    workers: 1,
    schedulers: 3,
    settings: { lanes: { cron: 8 } },
  });
  onEnd(() => made.close());
  rig = made;
  frozen.clear();
});
/**
 * Kills or freezes one scheduler after the other until the time is over; all of them run again
 * afterwards.
 */
async function disturb(random: () => number, untilMs: number): Promise<string[]> {
  const done: string[] = [];
  const healing: Promise<void>[] = [];
  while (performance.now() < untilMs) {
    await delay(200 + random() * 600);
    const healthy = rig.schedulers.filter((one) => one.isReady && !frozen.has(one));
    const victim = healthy[Math.floor(random() * healthy.length)];
    if (victim === undefined) continue;
    if (random() < 0.5) {
      done.push(`kill ${victim.name}`);
      await victim.kill();
      healing.push(victim.revive());
    } else {
      done.push(`freeze ${victim.name}`);
      healing.push(freezeFor(victim, 300 + random() * 2_500));
    }
  }
  await Promise.all(healing);
  return done;
}

const frozen = new Set<Victim>();

async function freezeFor(victim: Victim, ms: number): Promise<void> {
  frozen.add(victim);
  victim.freeze();
  await delay(ms);
  victim.thaw();
  frozen.delete(victim);
}

test.runIf(isLongForm())(
  'every tick of many crons is fired once or missed by the policy, with crashes of three schedulers (G20)',
  async () => {
    const crons: { id: string; nextSlotAt: string }[] = [];
    for (let n = 0; n < cronCount; n += 1) {
      crons.push(
        await rig.ask('POST', '/v1/crons', {
          name: `tick-${n}`,
          schedule: { kind: 'cron', expr: '* * * * * *' },
          payload: { kind: 'agentTurn', message: `tick ${n} [[reply: Yes.]]` },
          misfire: policies[n % policies.length],
        }),
      );
    }
    const done = await disturb(randomOf(seed), performance.now() + runMs);
    const label = `seed ${seed}: ${done.join(', ')}`;
    await waitUntil(`every cron has fired ${firesMin} times`, workedOffWithinMs, async () => {
      const fires = grouped(await readCronFires(rig, { messageId: not(null) }, 'cronId'), 'cronId');
      return fires.filter(({ n }) => n >= firesMin).length === cronCount;
    });
    const [{ now: reached } = { now: new Date() }] = await rig.rows<{ now: Date }>('select clock_timestamp() as now');
    await waitUntil('every cron has come to now', 240_000, async () => {
      return (await countCrons(rig, { nextSlotAt: atMost(reached) })) === 0;
    });
    for (const { id } of crons) await rig.ask('PATCH', `/v1/crons/${id}`, { enabled: false });
    await waitUntil('what fired is settled', workedOffWithinMs, async () => {
      return (await countInputs(rig, { settledAt: null })) === 0;
    });
    const fires = await readCronFires(rig);
    const faults: string[] = [];
    let fired = 0;
    for (const { id, nextSlotAt } of crons) {
      const own = fires.filter((fire) => fire.cronId === id);
      let expectedMs = Date.parse(nextSlotAt);
      for (const { scheduledFor: slot, slots, status } of own) {
        if (slot.getTime() !== expectedMs)
          faults.push(`${id}: ${slot.toISOString()} instead of ${new Date(expectedMs).toISOString()}`);
        expectedMs = slot.getTime() + slots * 1000;
        if (!['claimed', 'completed', 'missed', 'skipped'].includes(status))
          faults.push(`${id}: ${slot.toISOString()} is ${status}`);
      }
      if (expectedMs <= reached.getTime())
        faults.push(`${id}: nothing is known of the slots from ${new Date(expectedMs).toISOString()}`);
      fired += own.filter(({ messageId: message }) => message !== null).length;
    }
    expect(faults, label).toEqual([]);
    expect(fired, label).toBeGreaterThanOrEqual(cronCount * firesMin);
    // Each fire is one input, one turn and one prompt.
    const counts = {
      inputs: await countInputs(rig, { kind: 'cron' }),
      answered: await countInputs(rig, { kind: 'cron', status: 'answered' }),
      fires: new Set(fires.flatMap(({ messageId }) => messageId ?? [])).size,
      turns: await countTurns(rig, { kind: 'cron' }),
      prompts: await countEntries(rig, { kind: 'prompt' }),
    };
    const expected = fired;
    expect(counts, label).toEqual({
      inputs: expected,
      answered: expected,
      fires: expected,
      turns: expected,
      prompts: expected,
    });
  },
);
