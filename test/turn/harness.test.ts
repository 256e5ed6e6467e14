// Turns that a plugin's harness answers: it is chosen when the turn is opened, its answers are
// committed by the same journal, and no other harness takes over.
import { expect, test } from 'vitest';
import type { HarnessAnswer, HarnessAttempt } from '../../src/plugins/harness.ts';
import { PluginError } from '../../src/plugins/plugin-error.ts';
import { withoutPlugins } from '../../src/plugins/plugins.ts';
import { readHarness } from '../../src/plugins/read-registrations.ts';
import { createLogger } from '../../src/logger.ts';
import { pluginsWith } from '../plugins/plugins-with.ts';
import { readModelCalls, readToolCalls } from '../rows/calls.ts';
import { readEntries } from '../rows/entries.ts';
import { readEvents } from '../rows/events.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let database: Awaited<ReturnType<typeof withTestDatabase>>;
let rig: TurnRig;
let answer: (attempt: HarnessAttempt) => Promise<HarnessAnswer | string> | HarnessAnswer | string;
const attempts: HarnessAttempt[] = [];
const probed: string[] = [];

const plugin = readHarness('/p.ts', {
  id: 'helper',
  supports: ({ model }: { model: string }) => model === 'claude-haiku-4-5',
  async run(attempt: HarnessAttempt) {
    attempts.push(attempt);
    return await answer(attempt);
  },
});
const { plugins } = pluginsWith([], { harnesses: [plugin] });
const none = withoutPlugins(createLogger({ level: 'silent', format: 'json', name: 'test' }));

shareAmongTests(async (onEnd) => {
  const fresh = await withTestDatabase();
  onEnd(() => fresh.drop());
  database = fresh;
  rig = await createTurnRig(database.url, {
    plugins,
    tools: [
      {
        spec: { name: 'probe', description: 'Looks.', input_schema: { type: 'object' } },
        summary: 'looks',
        isIdempotent: true,
        run: async (_input, { callId }) => {
          probed.push(callId);
          return { content: 'seen', isError: false };
        },
      },
    ],
  });
  const made = rig;
  onEnd(() => made.close());
});

async function play(name: string, text: string, more: { model?: string; worker?: ReturnType<TurnRig['worker']> } = {}) {
  const worker = more.worker ?? rig.worker();
  await rig.send(name, text, { model: more.model ?? 'anthropic/claude-haiku-4-5' });
  await worker.run(name);
  worker.stop();
  return turnOf(name);
}

async function turnOf(name: string) {
  const turn = (await readTurns(rig, { sessionId: await rig.sessionOf(name) })).at(-1);
  return {
    ...turn!,
    view: turn!.view as { harness?: object },
    error: turn!.error as { code: string; message: string } | null,
  };
}

test('a model that it supports is answered by it, and the answer is committed like any other', async () => {
  answer = () => ({ content: 'From the helper.', usage: { outputTokens: 7 } });
  const turn = await play('plain', 'hello');
  expect(turn).toMatchObject({ status: 'completed', reply: 'From the helper.', error: null, outputTokens: 7 });
  expect(turn.view.harness).toEqual({ id: 'helper', reason: 'auto_plugin' });
  const attempt = attempts.at(-1)!;
  expect(attempt).toMatchObject({
    provider: 'anthropic',
    model: 'claude-haiku-4-5',
    turnId: turn.id,
    callNo: 1,
    thinking: 'off',
  });
  expect(attempt.system).toContain('## Tooling');
  expect(attempt.messages.at(-1)).toMatchObject({
    role: 'user',
    content: [{ type: 'text', text: expect.stringContaining('hello') }],
  });
  expect(Object.isFrozen(attempt.messages[0])).toBe(true);
  expect(attempt.tools.map(({ name }) => name)).toEqual(['probe']);
  const calls = await readModelCalls(rig, { turnId: turn.id }, 'status', 'stopReason');
  expect(calls).toEqual([{ status: 'ok', stopReason: 'end_turn' }]);
  expect(rig.scripted.requests).toEqual([]);
});

test('it does not answer in a session without effects, because it may change things by itself', async () => {
  const before = attempts.length;
  const turn = await play('agent:main:try:asked', 'hello');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'harness_missing' } });
  expect(turn.error?.message).toContain('"helper" answers turns of this agent. It may change things by itself');
  expect(attempts).toHaveLength(before);
});

test('its tool calls are run by the ledger, with ids of our own, and it is asked again with the results', async () => {
  answer = ({ callNo, messages }) =>
    callNo === 1
      ? {
          content: [
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', name: 'probe', input: {} },
          ],
        }
      : JSON.stringify(messages.at(-1)?.content);
  const turn = await play('tools', 'look');
  expect(turn.reply).toContain('"content":"seen"');
  const [ledger] = await readToolCalls(rig, { turnId: turn.id }, 'callId', 'status');
  expect(ledger).toEqual({ callId: probed.at(-1), status: 'done' });
  expect(probed.at(-1)).toMatch(/^toolu_[0-9a-f]{32}$/);
});

test('half characters and NULs of its answers are not kept, and a character in two pieces is whole (G12)', async () => {
  answer = ({ onText, messages }) => {
    for (const piece of ['a\0', '\ud83d', '\ude00', 'b\ud83d', 'c']) onText(piece);
    if (messages.length > 1) return 'done';
    return { content: [{ type: 'tool_use', name: 'probe', input: { path: '\0x\ud83d', 'k\ud83d': [] } }] };
  };
  const turn = await play('torn', 'hello');
  expect(turn).toMatchObject({ status: 'completed', reply: 'done' });
  const [stored] = await readEntries(rig, { turnId: turn.id, kind: 'answer' }, 'content');
  expect(stored).toMatchObject({ content: [{ input: { path: 'x\ufffd', 'k\ufffd': [] } }] });
  const shown = await readEvents(rig, { turnId: turn.id, type: 'model.delta' }, 'text');
  expect(shown.map(({ text }) => text).join('')).toContain('a😀b\ufffdc');
});

test('other models are answered by the built-in loop', async () => {
  const turn = await play('other', '[[reply: built in]]', { model: 'anthropic/claude-sonnet-5-5' });
  expect(turn.reply).toBe('built in');
  expect(turn.view.harness).toBeUndefined();
});

test('an answer costs what the harness reports; without a report, the cost is unknown', async () => {
  answer = () => ({ content: 'Paid.', usage: { outputTokens: 7 }, costUsd: 0.0000015 });
  expect(await play('paid', 'hello')).toMatchObject({ costMicros: 2, unpricedCalls: 0 });
  answer = () => ({ content: 'Free?', usage: { outputTokens: 7 } });
  expect(await play('unpaid', 'hello')).toMatchObject({ costMicros: null, unpricedCalls: 1 });
});

test('its error fails the turn, and no other harness answers instead (G11)', async () => {
  answer = () => Promise.reject(new Error('out of order'));
  const asked = attempts.length;
  const turn = await play('throws', 'hello');
  expect(turn.error).toEqual({ code: 'harness_failed', message: 'The harness helper failed: out of order' });
  expect(attempts).toHaveLength(asked + 1);
  const [call] = await readModelCalls(rig, { turnId: turn.id }, 'status', 'error');
  expect(call).toMatchObject({ status: 'failed', error: { code: 'harness_failed' } });
});

test.each([
  ['nothing', undefined],
  ['a number', 7],
  ['an image', { content: [{ type: 'image' }] }],
  ['a call without a name', { content: [{ type: 'tool_use', input: {} }] }],
])('%s is not an answer', async (name, value) => {
  answer = () => value as never;
  const turn = await play(`bad ${name}`.replaceAll(' ', '-'), 'hello');
  expect(turn.error?.code).toBe('harness_failed');
  expect(turn.error?.message).toContain('The harness helper gave no valid answer');
});

test('only the harness that started a turn continues it', async () => {
  answer = ({ callNo }) => (callNo === 1 ? { content: [{ type: 'tool_use', name: 'probe', input: {} }] } : 'done');
  let steps = 0;
  const leaving = rig.worker({ isDraining: () => (steps += 1) > 1 });
  expect(await play('moved', 'look', { worker: leaving })).toMatchObject({ reply: null });
  const without = rig.worker({ plugins: none, tools: [] });
  await without.run('moved');
  without.stop();
  expect(await turnOf('moved')).toMatchObject({ status: 'failed', error: { code: 'harness_missing' } });

  steps = 0;
  expect(await play('again', 'look', { worker: rig.worker({ isDraining: () => (steps += 1) > 1 }) })).toMatchObject({
    reply: null,
  });
  const worker = rig.worker();
  await worker.run('again');
  worker.stop();
  expect(await turnOf('again')).toMatchObject({ reply: 'done' });
});

test('an abort ends the turn, also when the harness ignores it', async () => {
  const begun = Promise.withResolvers<void>();
  answer = () => {
    begun.resolve();
    return new Promise(() => undefined);
  };
  const worker = rig.worker();
  await rig.send('stopped', 'hello', { model: 'anthropic/claude-haiku-4-5' });
  const running = worker.run('stopped');
  await begun.promise;
  worker.context.store.locks.stopAll({ kind: 'stopped', message: 'enough' });
  await running;
  worker.stop();
  expect(await turnOf('stopped')).toMatchObject({ status: 'aborted' });
});

test('a pinned harness that is missing fails the turn before any call', async () => {
  const pinned = await createTurnRig(database.url, {
    settings: { agents: { defaults: { harness: { pinned: 'gone' } } } },
  });
  try {
    const worker = pinned.worker();
    await pinned.send('pinned', 'hello');
    await worker.run('pinned');
    worker.stop();
    const [turn] = await readTurns(pinned, { sessionId: await pinned.sessionOf('pinned') }, 'status', 'error');
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'harness_missing' } });
    expect(pinned.scripted.requests).toEqual([]);
  } finally {
    await pinned.close();
  }
});

test.each<[unknown, string]>([
  [{ id: 'built-in', supports: () => true, run: () => '' }, 'registerHarness: id: neither built-in nor auto'],
  [{ id: 'No', supports: () => true, run: () => '' }, 'registerHarness: id: 1 to 64'],
  [{ id: 'a', run: () => '' }, 'registerHarness: supports: must be a function'],
  [null, 'registerHarness: value: '],
])('an invalid harness prevents the start: %#', (value, text) => {
  expect(() => readHarness('/p.ts', value)).toThrow(PluginError);
  expect(() => readHarness('/p.ts', value)).toThrow(text);
});
