// How an account is polled: what was received is committed before Telegram may drop it, one process
// reads an account, and a platform that does not answer is tried again (G1, G2).
import { describe, expect, onTestFinished, test } from 'vitest';
import { openChannels } from '../../../src/features/channels/poll-accounts.ts';
import { createLogger } from '../../../src/logger.ts';
import type { Service } from '../../../src/kernel/use-cases/service.ts';
import { startScriptedTelegram, type ScriptedTelegram } from '../../../scripted-platform/telegram/scripted-telegram.ts';
import { createApiRig, type ApiRig } from '../../api/api-rig.ts';
import { pauseTelegram, readBodies, readEventData, readTelegram } from '../../rows/channels.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { telegramChannel } from './channel-rig.ts';

let telegram: ScriptedTelegram;
let api: ApiRig;

shareAmongTests(async (onEnd) => {
  telegram = await startScriptedTelegram();
  onEnd(() => telegram.close());
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const channels = telegramChannel(telegram, 'poll');
  api = await createApiRig(database.url, { file: { channels, messages: { queue: { debounceMs: 0 } } } });
  onEnd(() => api.close());
});

/** A process that reads the account until the test is over, or is stopped. */
async function startProcess(service: Service = api.context.service): Promise<{ stop: () => Promise<void> }> {
  const stopped = new AbortController();
  const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
  const identity = { id: '', name: 'host:1:test', host: 'host', pid: 1, roles: ['worker'], version: '0' };
  const { rounds = [] } = await openChannels({ service, logger, identity });
  const running = (async () => {
    while (!stopped.signal.aborted) await rounds.at(-1)!.round(stopped.signal);
  })();
  const stop = async () => {
    stopped.abort();
    await running;
  };
  onTestFinished(stop);
  return { stop };
}

const texts = async (person: number) => (await readBodies(api, `telegram:direct:${person}`)).map(({ text }) => text);

/** A service with other settings of the account, on the same database. */
function serviceWith(own: object, limits: object = {}): Service {
  const { service } = api.context;
  const { telegram: channel } = service.config.channels.platforms;
  const main = { ...channel!.accounts!['main']!, ...own };
  const platforms = { telegram: { ...channel!, accounts: { main } } };
  const config = { ...service.config, limits: { ...service.config.limits, ...limits } };
  return { ...service, config: { ...config, channels: { ...config.channels, platforms } } };
}

const polls = () => telegram.calls.entries.filter(({ method }) => method === 'getUpdates');

test('what people write is committed in order before Telegram is asked for what comes after it (G38)', async () => {
  for (let n = 0; n < 150; n += 1) telegram.say({ from: 10 + (n % 2), text: `Line ${n}` });
  await startProcess();
  await expect.poll(() => telegram.pendingUpdates(), { timeout: 60_000 }).toEqual([]);
  const lines = Array.from({ length: 150 }, (_, n) => `Line ${n}`);
  expect(await texts(10)).toEqual(lines.filter((_, n) => n % 2 === 0));
  expect(await texts(11)).toEqual(lines.filter((_, n) => n % 2 === 1));
});

test('an album is one message, and is confirmed when all of it is committed (G38)', async () => {
  const photo = { kind: 'photo', name: 'a.jpg', type: 'image/jpeg', text: 'picture' } as const;
  telegram.say({ from: 14, text: 'Look', files: [photo, photo, photo] });
  await startProcess();
  await expect.poll(() => telegram.pendingUpdates(), { timeout: 60_000 }).toEqual([]);
  const file = expect.objectContaining({ type: 'image/jpeg' });
  expect(await readBodies(api, 'telegram:direct:14')).toMatchObject([{ text: 'Look', media: [file, file, file] }]);
});

test('while too many messages wait, nothing is dropped: Telegram keeps what is not committed', async () => {
  const first = await startProcess(serviceWith({}, { waitingTotal: 0 }));
  telegram.say({ from: 20, text: 'Wait' });
  await expect.poll(() => polls().at(-1)?.status).toBe(200);
  await first.stop();
  expect(await texts(20)).toEqual([]);
  expect(telegram.pendingUpdates()).toHaveLength(1);
  await startProcess();
  await expect.poll(() => texts(20)).toEqual(['Wait']);
});

test('of several processes one polls, and none while the account is paused', async () => {
  const from = polls().length;
  await Promise.all(Array.from({ length: 3 }, () => startProcess()));
  for (let n = 0; n < 10; n += 1) {
    telegram.say({ from: 30, text: `Line ${n}` });
    await expect.poll(() => texts(30)).toHaveLength(n + 1);
  }
  expect(
    polls()
      .slice(from)
      .filter(({ status }) => status === 409),
  ).toEqual([]);
  await pauseTelegram(api, true);
  await expect.poll(async () => (await readTelegram(api)).owner, { timeout: 20_000 }).toBe(null);
  telegram.say({ from: 30, text: 'Later' });
  expect(await texts(30)).toHaveLength(10);
  await pauseTelegram(api, false);
  await expect.poll(() => texts(30)).toHaveLength(11);
});

describe('a platform that does not answer', () => {
  test('is tried again; that it is lost and connected again are one event each', async () => {
    await startProcess();
    const [lost, connected] = [await readEventData(api, 'channel.lost'), await readEventData(api, 'channel.connected')];
    telegram.faults.arm({ method: 'getUpdates', kind: 'close', times: 2 });
    telegram.say({ from: 40, text: 'Hello' });
    await expect.poll(() => texts(40), { timeout: 20_000 }).toEqual(['Hello']);
    telegram.say({ from: 40, text: 'Still there?' });
    await expect.poll(() => texts(40), { timeout: 20_000 }).toEqual(['Hello', 'Still there?']);
    expect((await readEventData(api, 'channel.lost')).slice(lost.length)).toMatchObject([
      { channel: 'telegram', accountId: 'main', error: expect.stringContaining('getUpdates') },
    ]);
    expect((await readEventData(api, 'channel.connected')).slice(connected.length)).toMatchObject([
      { botId: '110201543' },
    ]);
  });
});

test('after a change of the token nothing is skipped: a position and the ids of messages are those of a bot', async () => {
  const old = await startProcess();
  telegram.say({ from: 50, text: 'To the old bot' });
  await expect.poll(() => texts(50)).toHaveLength(1);
  await old.stop();
  telegram.addToken('5:new');
  telegram.say({ bot: '5', from: 50, text: 'To the new bot' });
  await startProcess(serviceWith({ token: '5:new' }));
  await expect.poll(() => texts(50)).toEqual(['To the old bot', 'To the new bot']);
  expect(await readTelegram(api)).toMatchObject({ bot_id: '5' });
  // Telegram counts the messages of a direct chat for each bot, so the id has that of the bot.
  const ids = (await readBodies(api, 'telegram:direct:50')).map(({ messageId }) => messageId);
  expect(ids).toEqual([expect.stringMatching(/^110201543\./), expect.stringMatching(/^5\./)]);
});
