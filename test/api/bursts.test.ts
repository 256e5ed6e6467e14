// More messages than one turn takes: how a session handles them under each overflow policy, as a
// client sees it.
import { describe, expect, test } from 'vitest';
import { readEntries } from '../rows/entries.ts';
import { readInputs } from '../rows/inputs.ts';
import { grouped } from '../rows/table.ts';
import type { JsonAnswer } from './api-rig.ts';
import { useApiRig } from './use-api-rig.ts';

const waitingMax = 120;
const turnsMax = 30;
const holder = useApiRig({ limits: { waitingPerSession: waitingMax } });

const say = (session: string, text: string): Promise<JsonAnswer> =>
  holder.rig.post(`/v1/sessions/${session}/messages`, { text });

/**
 * Sends this many messages concurrently; resolves with their texts in the order of their numbers.
 */
async function burst(session: string, count: number): Promise<string[]> {
  const answers = await Promise.all(Array.from({ length: count }, (_, n) => say(session, `burst-${n + 1}.`)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
  const messages = answers.map(({ body }) => body.message as { seq: number; text: string });
  return messages.toSorted((a, b) => a.seq - b.seq).map(({ text }) => text);
}

/** Runs the turns of a session until no message waits. */
async function workAll(session: string): Promise<void> {
  for (let turns = 0; turns < turnsMax; turns += 1) {
    if ((await holder.rig.work(session)).kind === 'idle') return;
  }
  throw new Error(`${session} still has work after ${turnsMax} turns.`);
}

/** The texts of a burst in the prompts of a session, in their order, turn by turn. */
async function promptsOf(session: string): Promise<string[][]> {
  const rows = await readEntries(holder.rig, { sessionKey: `agent:main:${session}`, role: 'user' }, 'content');
  return rows.map(({ content }) => JSON.stringify(content).match(/burst-\d+\./g) ?? []);
}

async function statusesOf(session: string): Promise<Record<string, unknown>[]> {
  return grouped(await readInputs(holder.rig, { sessionKey: `agent:main:${session}` }, 'status'), 'status');
}

describe('a burst of 100 messages', () => {
  test('is answered with no message dropped, in order, `cap` messages in each turn (G1, G3, G5)', async () => {
    const sent = await burst('burst', 100);
    await workAll('burst');
    const prompts = await promptsOf('burst');
    expect(prompts.flat()).toEqual(sent);
    expect(prompts.map((texts) => texts.length)).toEqual([20, 20, 20, 20, 20]);
    expect(await statusesOf('burst')).toEqual([{ status: 'answered', n: 100 }]);
  });

  test('fills turns of the size that the session asks for with /queue cap', async () => {
    const { rig } = holder;
    await say('own-cap', '/queue cap:40 drop:wait debounce:0');
    expect((await rig.get('/v1/sessions/own-cap')).body).toMatchObject({ queueCap: 40, queueDrop: 'wait' });
    const sent = await burst('own-cap', 100);
    await workAll('own-cap');
    const prompts = await promptsOf('own-cap');
    expect(prompts.flat()).toEqual(sent);
    expect(prompts.map((texts) => texts.length)).toEqual([40, 40, 20]);
  });

  test('loses its oldest to summary lines where the session has set `summarize`', async () => {
    await say('summed', '/queue drop:summarize debounce:0');
    await burst('summed', 100);
    await workAll('summed');
    expect(await statusesOf('summed')).toEqual([
      // With the chat command.
      { status: 'answered', n: 21 },
      { status: 'dropped', n: 80 },
    ]);
  });
});

test('over `limits.waitingPerSession` a message is answered 429 with Retry-After and is not stored (G27)', async () => {
  const { rig } = holder;
  await burst('full', waitingMax);
  const refused = await say('full', 'one too many');
  expect(refused).toMatchObject({ status: 429, body: { code: 'inbox_full' } });
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect(await statusesOf('full')).toEqual([{ status: 'waiting', n: waitingMax }]);
  await rig.post('/v1/sessions/full/abort', {});
});
