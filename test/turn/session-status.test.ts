// The session status tool: what an agent learns of its own session, and the model that it sets for
// it, in a real turn on a real database.
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createSessionStatusTool } from '../../src/tools/session-status-tool.ts';
import { createSessionStatusPort } from '../../workers/create-turn-context.ts';
import { readEntries } from '../rows/entries.ts';
import { readSessions } from '../rows/sessions.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { aToolCall } from '../tools/tool-call.ts';
import { recordedService } from '../service/recorded-service.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const settings = {
    agents: { defaults: { models: { quick: 'anthropic/claude-haiku-4-5' } } },
    messages: { queue: { byChannel: { api: 'followup' } } },
  };
  rig = await createTurnRig(database.url, { settings });
  const made = rig;
  onEnd(() => made.close());
});

/**
 * Runs a turn that calls the tool; returns the lines that the model receives and whether they are
 * an error.
 */
async function status(session: string, input: object, more: object = {}) {
  const { service } = recordedService(rig);
  const tool = createSessionStatusTool(createSessionStatusPort(service, systemClock));
  const worker = rig.worker({ tools: [tool] });
  const usage = '[[usage: input=11 output=22 cache-read=33 cache-write=44]]';
  await rig.send(session, `${usage} [[tool: session_status ${JSON.stringify(input)}]] [[reply: ok]]`, more);
  await worker.run(session);
  worker.stop();
  const row = (await readEntries(rig, { sessionId: await rig.sessionOf(session), kind: 'results' }, 'content')).at(-1);
  const [block] = (row?.['content'] ?? []) as { content: string; is_error?: boolean }[];
  return { lines: (block?.content ?? '').split('\n'), isError: block?.is_error ?? false };
}

const modelOf = async (session: string) =>
  (await readSessions(rig, { id: await rig.sessionOf(session) }, 'model'))[0]?.['model'];

test('the status shows tokens, cache, context and queue mode, and where model and thinking come from', async () => {
  await status('shown', {});
  const { lines } = await status('shown', {}, { thinking: 'high' });
  expect(lines.slice(0, 9)).toEqual([
    'Session: agent:main:shown',
    'Agent: main',
    'Model: anthropic/claude-sonnet-5-5 (default)',
    'Thinking: high (this turn; then off, default)',
    'Reasoning: off',
    'Queue: followup (channel), debounce 1000 ms, cap 20, drop wait',
    expect.stringMatching(/^Usage: [1-9]\d* tokens in, [1-9]\d* out$/),
    expect.stringMatching(/^Cache: [1-9]\d* tokens read, [1-9]\d* written \(last 2 turns\)$/),
    expect.stringMatching(/^Context: [1-9]\d* tokens of 200000 \(\d+ %\)$/),
  ]);
  expect(lines.at(-1)).toMatch(/^UTC: /);
});

test('the status in the first turn of a session has what this turn has used, with the answer that asks', async () => {
  const { lines } = await status('begun', {});
  expect(lines.slice(6, 9)).toEqual([
    'Usage: 88 tokens in, 22 out',
    'Cache: 33 tokens read, 44 written (last 1 turn)',
    'Context: 110 tokens of 200000 (0 %)',
  ]);
});

test('a model that is set applies from the next turn on, until it is set to "default"', async () => {
  const set = await status('changed', { model: 'quick' });
  expect(set.lines).toContain(
    'Model: anthropic/claude-sonnet-5-5 (this turn; then anthropic/claude-haiku-4-5, session)',
  );
  expect(await modelOf('changed')).toBe('quick');
  expect((await status('changed', {})).lines).toContain('Model: anthropic/claude-haiku-4-5 (session)');
  await status('changed', { model: 'default' });
  expect(await modelOf('changed')).toBeNull();
});

test('a model that no provider serves is refused, and the session keeps its own', async () => {
  await status('refused', { model: 'quick' });
  const { lines, isError } = await status('refused', { model: 'nowhere/x' });
  expect(isError).toBe(true);
  expect(lines[0]).toBe(
    'session_status: model: no provider serves the model "nowhere/x"; use "anthropic/<model>", or an alias: quick',
  );
  expect(await modelOf('refused')).toBe('quick');
});

test('a call without a model only reads, one with a model changes the setting', () => {
  const tool = createSessionStatusTool({ status: async () => ({ now: new Date(0) }), setModel: async () => null });
  expect(tool.onlyReads?.({})).toBe(true);
  expect(tool.onlyReads?.({ model: 'quick' })).toBe(false);
});

test('concurrent calls each return their own session, and a session that does not exist returns nothing', async () => {
  for (const session of ['first', 'second', 'second']) await status(session, {});
  const port = createSessionStatusPort(recordedService(rig).service, systemClock);
  const asked = ['first', 'nobody', 'second'].map((name) => `agent:main:${name}`);
  const { tokens } = aToolCall({ workspaceDir: '/' });
  const answers = await Promise.all(asked.map((sessionKey) => port.status({ sessionKey, agentId: 'main', tokens })));
  // The turn that asks counts, too.
  expect(answers.map(({ session }) => session?.usage.turns)).toEqual([2, undefined, 3]);
});
