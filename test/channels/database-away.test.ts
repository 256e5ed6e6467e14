// A push that cannot be committed is 503, and Telegram sends it again (G1).
import { expect, onTestFinished, test } from 'vitest';
import { startScriptedTelegram } from '../../scripted-platform/telegram/scripted-telegram.ts';
import { createApiRig } from '../api/api-rig.ts';
import { readBodies } from '../rows/channels.ts';
import { startTestPostgres } from '../servers/postgres.ts';
import { isLongForm } from '../servers/test-form.ts';
import { SECRET, telegramChannel, WEBHOOK } from './channel-rig.ts';

test.runIf(isLongForm())(
  'a push while the database is away is 503, and is committed once when it is there again',
  async () => {
    const telegram = await startScriptedTelegram({ pushRetryMs: 100 });
    onTestFinished(() => telegram.close());
    const server = await startTestPostgres();
    onTestFinished(() => server.stop());
    const rig = await createApiRig(server.url, { file: { channels: telegramChannel(telegram, 'webhook') } });
    onTestFinished(() => rig.close());
    const url = (await rig.listen()) + WEBHOOK;
    const set = await fetch(`${telegram.url}/bot110201543:scripted/setWebhook`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ url, secret_token: SECRET }),
    });
    expect(set.status).toBe(200);
    telegram.say('Before');
    await expect.poll(() => telegram.pendingUpdates(), { timeout: 20_000 }).toEqual([]);
    await server.kill();
    telegram.say('During');
    await expect
      .poll(() => telegram.pushes.entries.filter(({ status }) => status === 503).length, { timeout: 60_000 })
      .toBeGreaterThan(0);
    expect(telegram.pendingUpdates()).toHaveLength(1);
    await server.restart();
    await expect.poll(() => telegram.pendingUpdates(), { timeout: 60_000 }).toEqual([]);
    const kept = await readBodies(rig, 'telegram:direct:42');
    expect(kept.map(({ text }) => text)).toEqual(['Before', 'During']);
  },
);
