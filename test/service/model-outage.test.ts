// Goal: an outage of the model fails no turn (G33). Method: two workers, each behind its own
// switch, lose their model under twenty busy sessions; one worker is killed meanwhile and another
// replaces it; then the model is available again and everything is counted. The long form
// (HOLDFAST_CRASH_SWEEP=full) has the default settings and an outage of two minutes.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { countInputs, readInputs, readInputsWithTurns } from '../rows/inputs.ts';
import { grouped } from '../rows/table.ts';
import { countTurns } from '../rows/turns.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { openModelSwitch, type ModelSwitch } from './rig/model-switch.ts';
import { openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';

const isLong = process.env['HOLDFAST_CRASH_SWEEP'] === 'full';
const sessions = Array.from({ length: 20 }, (_, index) => `busy-${index}`);
const outageMs = 120_000;
const settledWithinMs = 240_000;
const callsPerMinuteMax = 10;

let rig: ServiceRig;
let front: RunningProcess;
const switches: ModelSwitch[] = [];

/** A worker behind its own switch, which is on as long as the others are. */
async function startWorker(isOn: boolean): Promise<RunningProcess> {
  const modelSwitch = await openModelSwitch(rig.model.url);
  modelSwitch.set(isOn);
  switches.push(modelSwitch);
  return await rig.start('worker', { env: { ANTHROPIC_BASE_URL: modelSwitch.url } });
}

shareAmongTests(async (onEnd) => {
  const outage = isLong ? {} : { probeMs: { min: 200, max: 1_000 } };
  rig = await openServiceRig({ queue: 'postgres', config: { models: { outage } } });
  const opened = rig;
  onEnd(async () => void (await Promise.all(switches.map((one) => one.close()))));
  onEnd(() => opened.close());
  front = await rig.start('api,scheduler');
});

test(
  'an outage of the model under 20 busy sessions fails no message, and all are answered in order, although a worker is killed (G3, G33)',
  { timeout: outageMs + settledWithinMs + 120_000 },
  async () => {
    const api = rig.apiOf(front);
    const [first] = await Promise.all([startWorker(true), startWorker(true)]);
    const warm = await Promise.all(sessions.map((name) => api.send(name, { text: 'zero', mode: 'followup' })));
    await Promise.all(warm.map((message) => api.settled(message)));

    for (const one of switches) one.set(false);
    const awayAtMs = performance.now();
    const sent = warm.map((message) => [message.id]);
    for (const text of ['first', 'second']) {
      for (const [index, name] of sessions.entries()) {
        sent[index]?.push((await api.send(name, { text, mode: 'followup' })).id);
      }
    }
    await waitUntil('every session has a turn that waits for the model', settledWithinMs, async () => {
      return (await countTurns(rig, { status: 'parked', parkCode: 'model_away' })) === sessions.length;
    });
    await rig.kill(first);
    await startWorker(false);
    const refused = (): number => switches.reduce((sum, one) => sum + one.refusedAtMs.length, 0);
    const refusedBefore = refused();
    await waitUntil('the model is asked again', settledWithinMs, () => refused() > refusedBefore);
    if (isLong) await delay(Math.max(0, awayAtMs + outageMs - performance.now()));
    for (const one of switches) one.set(true);
    await waitUntil('all messages are settled', settledWithinMs, async () => {
      return (await countInputs(rig, { status: ['waiting', 'claimed'] })) === 0;
    });

    const statuses = grouped(await readInputs(rig, {}, 'status'), 'status');
    expect(statuses).toEqual([{ status: 'answered', n: 3 * sessions.length }]);
    const inputs = (await readInputsWithTurns(rig, {})).toSorted((a, b) => a.turn!.promptSeq - b.turn!.promptSeq);
    const order = [...Map.groupBy(inputs, ({ sessionId }) => sessionId).values()];
    expect(new Set(order.map((own) => own.map(({ id }) => id).join(' ')))).toEqual(
      new Set(sent.map((ids) => ids.join(' '))),
    );
    if (!isLong) return;
    for (const { refusedAtMs } of switches) {
      for (const from of refusedAtMs) {
        const inMinute = refusedAtMs.filter((at) => at >= from && at < from + 60_000);
        expect(inMinute.length).toBeLessThanOrEqual(callsPerMinuteMax);
      }
    }
  },
);
