// Two minutes without a model under twenty busy sessions, in two workers, one of which is killed
// meanwhile. The test plays the time: it advances the clock of the workers, and the times in the
// database with it, second by second.
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { joinText } from '../../src/core/content.ts';
import { eventsOfBody } from '../../src/model/stream/stream-event.ts';
import type { TransportCall } from '../../src/model/transport.ts';
import { readTransport } from '../../src/plugins/read-registrations.ts';
import { pluginsWith } from '../plugins/plugins-with.ts';
import { changeDoorbells, readDueSessions } from '../rows/doorbells.ts';
import { countInputs, readInputs } from '../rows/inputs.ts';
import { changeModelBlocks } from '../rows/pauses.ts';
import { above, earlier, grouped, now } from '../rows/table.ts';
import { changeTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const SESSIONS = 20;
const OUTAGE_S = 120;
/** Concurrent turns in a worker: the default of the main lane. */
const SLOTS = 4;

type Worker = ReturnType<TurnRig['worker']>;

/**
 * A provider that is down until a test switches it on, and records the session and time of each
 * call.
 */
function movableProvider(nowS: () => number) {
  const state = { isAway: true };
  const calls: { atS: number; workerNo: number; session: string; text: string; isAway: boolean }[] = [];
  const transportOf = (workerNo: number) =>
    readTransport('/p.ts', {
      name: 'movable',
      provider: 'movable',
      async send({ request, onEvent, headers }: TransportCall) {
        const text = joinText(request.messages.at(-1)?.content ?? []);
        calls.push({ atS: nowS(), workerNo, session: headers['x-holdfast-session'] ?? '', text, isAway: state.isAway });
        if (state.isAway) throw Object.assign(new Error('connect ECONNREFUSED'), { type: 'network' });
        const body = { id: 'm', model: 'm', content: [{ type: 'text', text: 'here' }], stop_reason: 'end_turn' };
        for (const event of eventsOfBody(body)) if (onEvent(event)) return;
      },
    });
  return { state, calls, transportOf };
}

test(
  'a model that is away for 120 s under 20 busy sessions fails no turn, is asked at most 10 times a minute and worker, and answers ' +
    'all in order, also when workers are killed meanwhile (G3, G33)',
  async () => {
    const database = await withTestDatabase();
    let secondsPassed = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + secondsPassed * 1000 };
    const provider = movableProvider(() => secondsPassed);
    // Long enough that no lease expires when a whole second passes in one step.
    const rig = await createTurnRig(database.url, { clock, leaseMs: 15_000 });
    const names = Array.from({ length: SESSIONS }, (_, index) => `busy-${index}`);
    const workers: Worker[] = [];
    const addWorker = (): Worker => {
      const { plugins } = pluginsWith([], { transports: [provider.transportOf(workers.length)] });
      const worker = rig.worker({ plugins });
      workers.push(worker);
      return worker;
    };

    /**
     * A second passes: the clocks of the workers advance, and all times in the database move
     * closer.
     */
    const passSecond = async (): Promise<void> => {
      secondsPassed += 1;
      await changeDoorbells(rig, { dueAt: above(now) }, { dueAt: earlier('1 second') });
      await changeTurns(rig, { status: 'parked' }, { parkNotBefore: earlier('1 second') });
      await changeModelBlocks(rig, {}, { until: earlier('1 second'), probeAt: earlier('1 second') });
    };
    /**
     * Each worker looks at its share of the sessions that are due, as many concurrently as it has
     * slots.
     */
    const visit = async (living: readonly Worker[]): Promise<void> => {
      const due = await readDueSessions(rig);
      for (let from = 0; from < due.length; from += SLOTS * living.length) {
        const some = due.slice(from, from + SLOTS * living.length);
        await Promise.all(some.map(async (id, index) => living[index % living.length]?.runSession(id)));
      }
    };

    for (const name of names) await rig.send(name, 'first', { model: 'movable/m' });
    addWorker();
    addWorker();
    let living = [...workers];
    await visit(living);
    // More messages arrive during the outage.
    for (const name of names) await rig.send(name, 'second', { model: 'movable/m', mode: 'followup' });
    for (let second = 1; second <= OUTAGE_S; second += 1) {
      await passSecond();
      if (second === 60) {
        living[0]?.stop();
        living = [...living.slice(1), addWorker()];
      }
      await visit(living);
    }
    provider.state.isAway = false;
    const waiting = async (): Promise<unknown> => await countInputs(rig, { status: ['waiting', 'claimed'] });
    let secondsToRecover = 0;
    for (; secondsToRecover < 120 && (await waiting()) !== 0; secondsToRecover += 1) {
      await passSecond();
      await visit(living);
    }

    const statuses = grouped(await readInputs(rig, {}, 'status'), 'status');
    expect(statuses).toEqual([{ status: 'answered', n: 2 * SESSIONS }]);
    expect(secondsToRecover).toBeLessThanOrEqual(90);
    const answered = provider.calls.filter(({ isAway }) => !isAway);
    for (const name of names) {
      const texts = answered.filter(({ session }) => session === `agent:main:${name}`).map(({ text }) => text);
      expect(texts.map((text) => /first|second/.exec(text)?.[0])).toEqual(['first', 'second']);
    }
    const refused = provider.calls.filter(({ isAway }) => isAway);
    for (const [workerNo] of workers.entries()) {
      const atS = refused.filter((call) => call.workerNo === workerNo).map((call) => call.atS);
      for (const from of atS) expect(atS.filter((at) => at >= from && at < from + 60).length).toBeLessThanOrEqual(10);
    }
    // It is probed throughout.
    expect(refused.filter(({ atS }) => atS > 60).length).toBeGreaterThan(1);
    await rig.close();
    await database.drop();
  },
);
