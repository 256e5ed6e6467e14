// Telegram in a running service: a person writes, the agent answers, and one of several processes
// polls, whatever becomes of it (G1, G2, G22).
import { expect, test } from 'vitest';
import { startScriptedTelegram, type ScriptedTelegram } from '../../scripted-platform/telegram/scripted-telegram.ts';
import { telegramChannel } from '../features/channels/channel-rig.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { readEventData, readReplies, readTelegram } from '../rows/channels.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';

const SOON_MS = 120_000;
const PERSON = 42;

let rig: ServiceRig;
let telegram: ScriptedTelegram;
let workers: RunningProcess[];

shareAmongTests(async (onEnd) => {
  telegram = await startScriptedTelegram();
  onEnd(() => telegram.close());
  rig = await openServiceRig({ queue: 'postgres', config: { channels: telegramChannel(telegram, 'poll') } });
  onEnd(() => rig.close());
  await rig.start('api,scheduler');
  workers = await Promise.all([rig.start('worker'), rig.start('worker')]);
});

const polls = () => telegram.calls.entries.filter(({ method }) => method === 'getUpdates');
/** Telegram ends a poll with this status when another one begins. */
const conflicts = () => polls().filter(({ status }) => status === 409);

/**
 * A person writes; resolves with the replies that are in the outbox to the chat when there is one
 * to it.
 */
async function ask(text: string): Promise<string[]> {
  telegram.say({ from: PERSON, text: `${text} [[reply: ${text}: yes.]]` });
  return waitUntil(`the reply to ${text}`, SOON_MS, async () => {
    const texts = await readReplies(rig, `channel:telegram/main/${PERSON}`);
    return texts.includes(`${text}: yes.`) ? texts : null;
  });
}

const account = () => readTelegram(rig);

/** The worker that has claimed the account. */
async function poller(): Promise<RunningProcess> {
  const { owner } = await account();
  return workers.find(({ child }) => owner?.includes(`:${child.pid}:`))!;
}

test('a person writes, the agent answers, and one process polls', async () => {
  expect(await ask('First')).toEqual(['First: yes.']);
  expect(await ask('Second')).toEqual(['First: yes.', 'Second: yes.']);
  expect(conflicts()).toEqual([]);
  expect(await account()).toMatchObject({ bot_id: '110201543' });
  expect(await readEventData(rig, 'channel.connected')).toMatchObject([
    { channel: 'telegram', accountId: 'main', botId: '110201543' },
  ]);
});

test('another process polls as soon as the one that polls has drained', async () => {
  const drained = await poller();
  await drained.end('SIGTERM');
  expect(await ask('Third')).toHaveLength(3);
  expect(conflicts()).toEqual([]);
  workers = workers.filter((worker) => worker !== drained);
});

test.runIf(isLongForm())('a process that was paused past its lease polls no more and stores nothing (G7)', async () => {
  const paused = await poller();
  workers.push(await rig.start('worker'));
  const { epoch } = await account();
  paused.child.kill('SIGSTOP');
  expect(await ask('Fourth')).toHaveLength(4);
  const later = await account();
  expect(Number(later.epoch)).toBeGreaterThan(Number(epoch));
  // That of the paused process was open when the next process began.
  const before = conflicts().length;
  expect(before).toBeLessThanOrEqual(1);
  paused.child.kill('SIGCONT');
  expect(await ask('Fifth')).toHaveLength(5);
  expect(await ask('Sixth')).toHaveLength(6);
  expect(conflicts()).toHaveLength(before);
  expect((await account()).epoch).toBe(later.epoch);
});
