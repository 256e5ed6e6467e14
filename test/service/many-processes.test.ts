// Goal: four processes share the turns evenly, and a turn that lasts long keeps no other waiting.
// Method: many sessions send messages without pause to workers that all have free slots, and the
// database says which worker ran each turn; then a call of a turn is held.
import { describe, expect, test } from 'vitest';
import { grouped } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { openServiceRig, queues, type ServiceRig } from './rig/service-rig.ts';

const workers = 4;
const sessions = 64;
const turnsEach = 8;

describe.each(queues)('with the queue in $queue', ({ queue }) => {
  let rig: ServiceRig;
  let api: ServiceApi;

  shareAmongTests(async (onEnd) => {
    const opened = await openServiceRig({ queue });
    onEnd(() => opened.close());
    rig = opened;
    const [front] = await Promise.all([
      rig.start('api,scheduler'),
      ...Array.from({ length: workers }, () => rig.start('worker')),
    ]);
    api = rig.apiOf(front!);
  });

  /**
   * Sends a message and waits for the reply in the same request, because many that ask again would
   * take the processor from the workers.
   */
  async function answered(session: string): Promise<void> {
    const prefer = { prefer: 'wait=100' };
    const answer = await api.ask('POST', `/v1/sessions/${session}/messages`, { text: '[[reply: Done.]]' }, prefer);
    expect(answer).toMatchObject({ status: 200, body: { reply: 'Done.' } });
  }

  test('four processes run about as many turns each', async () => {
    await Promise.all(
      Array.from({ length: sessions }, async (_, session) => {
        for (let turn = 1; turn <= turnsEach; turn += 1) await answered(`even-${session}`);
      }),
    );
    const counts = grouped(await readTurns(rig, {}, 'worker'), 'worker').map(({ n }) => n);
    expect(counts).toHaveLength(workers);
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThanOrEqual(1.5);
  });

  test('a turn that lasts long keeps none of 15 other sessions waiting', async () => {
    const gate = rig.gate();
    const long = await api.send('long', { text: `${gate.call} [[reply: Late.]]` });
    await rig.holderOf('long');
    await Promise.all(Array.from({ length: 15 }, (_, session) => answered(`short-${session}`)));
    expect((await api.ask('GET', `/v1/messages/${long.id}`)).body.status).toBe('claimed');
    gate.open();
    expect(await api.settled(long)).toMatchObject({ status: 'answered', reply: 'Late.' });
  });
});
