// Something on every screen, with hostile text wherever a text of a caller is shown.
import { newId } from '../../src/ids.ts';
import type { ApiRig } from '../api/api-rig.ts';
import { addChannelAccounts } from '../rows/channel-accounts.ts';
import { addPairings } from '../rows/pairings.ts';
import { ahead, now } from '../rows/table.ts';
import { addEvaluated } from './fixture/evaluated.ts';

const HOSTILE =
  '<script>globalThis.wasRun = true</script><img src=x onerror="globalThis.wasRun = true"> [link](javascript:alert(1)) \u202eevil\u200b \u001b[31mred\u001b[0m';

/** `channels` of a configuration with the account that the rows are of. */
export const SEEDED_CHANNELS = {
  telegram: {
    adapter: 'telegram',
    mode: 'webhook',
    accounts: { main: { token: '1:scripted', secretToken: 'x'.repeat(16) } },
  },
};

export interface SeededIds {
  turnId: string;
  batchId: string;
  cronId: string;
  deliveryId: string;
  evaluationId: string;
}

/**
 * A session with a subagent and a turn that called a tool and has a delivery, one with a turn that
 * failed, a batch, a cron and an evaluation.
 */
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
  const { id: evaluationId } = await addEvaluated(rig, { words: HOSTILE });
  return { turnId, deliveryId, batchId: batch.body.id, cronId: cron.body.id, evaluationId };
}

/** A bot that is lost, and people who ask to write to it; once for a database. */
export async function seedChannels(rig: ApiRig): Promise<void> {
  await addChannelAccounts(rig, { channel: 'telegram', account: 'main', botId: HOSTILE, lastError: HOSTILE });
  const asked = { channel: 'telegram', account: 'main', senderName: HOSTILE, chatId: '42', sessionId: newId<string>() };
  await addPairings(
    rig,
    { ...asked, id: newId<string>(), senderId: '42', code: 'ABCD2345', slot: 1, expiresAt: ahead('1 hour') },
    {
      ...asked,
      id: newId<string>(),
      senderId: '43',
      code: 'EFGH2345',
      status: 'denied',
      expiresAt: now,
      decidedAt: now,
      decidedBy: HOSTILE,
    },
  );
}
