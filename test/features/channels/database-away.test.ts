// A push that cannot be committed is 503, and Telegram sends it again; what Signal does not send
// again waits in the process (G1).
import { expect, onTestFinished, test } from 'vitest';
import { SIGNAL_NUMBER, startScriptedSignal } from '../../../scripted-platform/signal/scripted-signal.ts';
import { startScriptedTelegram } from '../../../scripted-platform/telegram/scripted-telegram.ts';
import { openChannels } from '../../../src/features/channels/poll-accounts.ts';
import { createLogger } from '../../../src/logger.ts';
import { createApiRig } from '../../api/api-rig.ts';
import { readBodies } from '../../rows/channels.ts';
import { startTestPostgres } from '../../servers/postgres.ts';
import { isLongForm } from '../../servers/test-form.ts';
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

test.runIf(isLongForm())(
  'a message that signal-cli has handed over while the database is away is committed when it is there again',
  async () => {
    const signal = await startScriptedSignal();
    onTestFinished(() => signal.close());
    const server = await startTestPostgres();
    onTestFinished(() => server.stop());
    const main = { token: SIGNAL_NUMBER, baseUrl: signal.url, dm: 'open' };
    const channels = { signal: { adapter: 'signal', accounts: { main } } };
    const rig = await createApiRig(server.url, { file: { channels } });
    onTestFinished(() => rig.close());
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const logger = createLogger({ level: 'warn', format: 'json', name: 'test', destination });
    const identity = { id: '', name: 'host:1:test', host: 'host', pid: 1, roles: ['worker'], version: '0' };
    const { rounds = [] } = await openChannels({ service: rig.context.service, logger, identity });
    const stopped = new AbortController();
    const running = rounds.at(-1)!.round(stopped.signal);
    await expect.poll(() => signal.isReceiving(), { timeout: 20_000 }).toBe(true);
    await server.kill();
    const { author } = signal.say({ from: '+4915100000030', text: 'During' });
    const isWaiting = () => lines.some((line) => line.includes('cannot be committed yet'));
    await expect.poll(isWaiting, { timeout: 60_000 }).toBe(true);
    await server.restart();
    const texts = async () => (await readBodies(rig, `signal:direct:${author}`)).map(({ text }) => text);
    await expect.poll(texts, { timeout: 60_000 }).toEqual(['During']);
    stopped.abort();
    await running;
  },
);
