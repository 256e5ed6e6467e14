// Something on every screen, with hostile text wherever a text of a caller is shown.
import { newId } from '../../src/ids.ts';
import type { ApiRig } from '../api/api-rig.ts';

const HOSTILE =
  '<script>globalThis.wasRun = true</script><img src=x onerror="globalThis.wasRun = true"> [link](javascript:alert(1)) \u202eevil\u200b \u001b[31mred\u001b[0m';

export interface SeededIds {
  turnId: string;
  batchId: string;
  cronId: string;
  deliveryId: string;
}

/** A session with a subagent and a turn that called a tool and has a delivery, one with a turn that failed, a batch and a cron. */
export async function seedScreens(rig: ApiRig): Promise<SeededIds> {
  await rig.post('/v1/sessions/told/messages', {
    text: `[[tool: echo {"say": "hi"}]] [[reply: ${HOSTILE}]]`,
    deliver: { url: 'http://127.0.0.1:9/replies' },
  });
  await rig.work('told');
  await rig.post('/v1/sessions/broken/messages', { text: '[[error: 400 message="the provider says no"]]' });
  await rig.work('broken');
  const batch = await rig.post('/v1/batches', {
    name: HOSTILE.slice(0, 100),
    items: [{ text: HOSTILE, customId: HOSTILE }],
  });
  const cron = await rig.post('/v1/crons', {
    name: newId<string>(),
    schedule: { kind: 'cron', expr: '0 9 * * *' },
    payload: { kind: 'agentTurn', message: HOSTILE },
  });
  await rig.post(`/v1/crons/${cron.body.id}/run`, {});
  await rig.post('/v1/sessions/told/spawn', { task: HOSTILE, label: HOSTILE.slice(0, 100) });
  const turnId = (await rig.get('/v1/turns?session=told')).body.items[0].id;
  const deliveryId = (await rig.get(`/v1/deliveries?turn=${turnId}`)).body.items[0].id;
  return { turnId, deliveryId, batchId: batch.body.id, cronId: cron.body.id };
}
