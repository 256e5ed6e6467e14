// The `cron` tool on a real database: what an agent can do with crons, and what it cannot.
import { describe, expect, onTestFinished, test } from 'vitest';
import { NO_MODELS } from '../../tools/tool-call.ts';
import { newId } from '../../../src/ids.ts';
import { CRONS_PER_AGENT_MAX } from '../../../src/features/crons/store/crons.ts';
import { canonicalSessionKey } from '../../../src/core/session-key.ts';
import { buildNewSession } from '../../../src/kernel/sessions/sessions.ts';
import { createCronTool } from '../../../src/features/crons/cron-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { addCrons, changeCrons, removeCrons } from '../../rows/crons.ts';
import { readSystemEvents } from '../../rows/system-events.ts';
import { like } from '../../rows/table.ts';
import { recordedService } from '../../service/recorded-service.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { configWith, fireAll, makeCron, schedulerParts } from './cron-rig.ts';
import { createStoreRig, type StoreRig } from '../../store/store-rig.ts';

let rig: StoreRig;
let tool: Tool;
let recorded: ReturnType<typeof recordedService>;

shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  onEnd(() => made.drop());
  rig = made;
  recorded = recordedService({ config: configWith(), database: rig.database });
  await recorded.service.inbox.ensureSession(buildNewSession(canonicalSessionKey('agent:main:main')));
  tool = createCronTool(recorded.service);
});

async function call(input: object, more: { sessionKey?: string; idempotencyKey?: string } = {}) {
  const outcome = await tool.run(input, {
    sessionKey: 'agent:main:main',
    agentId: 'main',
    model: 'anthropic/m',
    thinking: 'off',
    turnId: newId<string>(),
    callId: 'call',
    idempotencyKey: newId<string>(),
    workspaceDir: '/nowhere',
    tokens: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, contextTokens: 0 },
    place: { step: 1, ordinal: 1 },
    lease: { epoch: 1, assertHeld: () => undefined },
    models: NO_MODELS,
    signal: new AbortController().signal,
    ...more,
  });
  const text = typeof outcome.content === 'string' ? outcome.content : JSON.stringify(outcome.content);
  return { text, isError: outcome.isError, value: outcome.isError ? null : JSON.parse(text) };
}

const reminder = { schedule: { kind: 'every', everyMs: 60_000 }, payload: { kind: 'systemEvent', text: 'Stand up.' } };

test('the description tells the model the allowed actions', () => {
  expect(tool.spec.name).toBe('cron');
  const schema = JSON.stringify(tool.spec.input_schema);
  for (const word of ['list', 'add', 'update', 'remove', 'run', 'fires', 'systemEvent', 'agentTurn'])
    expect(schema).toContain(word);
});

test('an agent makes, lists, changes, runs and removes its own crons', async () => {
  const made = await call({ action: 'add', job: { ...reminder, name: 'stand' } });
  expect(made.value).toMatchObject({ name: 'stand', madeBy: 'you', target: 'main', enabled: true });
  const { id } = made.value;
  expect((await call({ action: 'list' })).value.crons).toContainEqual(expect.objectContaining({ id }));
  expect((await call({ action: 'update', id, job: { enabled: false } })).value).toMatchObject({ enabled: false });
  expect((await call({ action: 'run', id })).value).toMatchObject({ scheduledFor: expect.any(String) });
  expect(recorded.rings.at(-1)).toMatchObject({ kind: 'cron' });
  expect((await call({ action: 'fires', id })).value).toEqual([expect.objectContaining({ isManual: true })]);
  expect((await call({ action: 'remove', id })).value).toEqual({ done: true });
  expect((await call({ action: 'run', id })).text).toContain('there is no cron');
});

test('a call that is run again after a crash makes one cron and runs it once (G11)', async () => {
  const key = { idempotencyKey: 'turn-1:0' };
  const first = await call({ action: 'add', job: reminder }, key);
  expect(await call({ action: 'add', job: reminder }, key)).toEqual(first);
  const run = { idempotencyKey: 'turn-1:1' };
  await call({ action: 'run', id: first.value.id }, run);
  await call({ action: 'run', id: first.value.id }, run);
  expect((await call({ action: 'fires', id: first.value.id })).value).toHaveLength(1);
});

test('its text is untrusted when it returns in a prompt (G29)', async () => {
  const { value } = await call({
    action: 'add',
    job: {
      ...reminder,
      schedule: { kind: 'at', at: '2026-01-01T00:00:00Z' },
      payload: { kind: 'systemEvent', text: 'Obey.' },
    },
  });
  await fireAll(schedulerParts(rig.database));
  const events = await readSystemEvents(rig, { contextKey: `cron:${value.id}` }, 'isTrusted');
  expect(events).toEqual([{ isTrusted: false }]);
});

describe('it cannot', () => {
  test("touch what a person has set up, or another agent's crons (G30)", async () => {
    const persons = await makeCron(rig.database, { ...reminder, name: 'persons' });
    expect((await call({ action: 'list' })).value.crons).toContainEqual(
      expect.objectContaining({ id: persons.id, madeBy: 'a person' }),
    );
    expect((await call({ action: 'remove', id: persons.id })).text).toContain('only a person can change it');
    expect((await call({ action: 'update', id: persons.id, job: { enabled: false } })).isError).toBe(true);
    await changeCrons(rig.database.views, { id: persons.id }, { agentId: 'other', origin: 'agent' });
    for (const action of ['update', 'remove', 'run', 'fires']) {
      expect((await call({ action, id: persons.id, job: {} })).text).toContain('there is no cron');
    }
  });

  test('choose another agent, another session or another address', async () => {
    for (const job of [
      { ...reminder, agentId: 'other' },
      { ...reminder, target: 'session:x' },
      { ...reminder, delivery: { mode: 'webhook', url: 'http://x' } },
    ]) {
      expect((await call({ action: 'add', job })).isError).toBe(true);
    }
  });

  test('schedule anything as a subagent', async () => {
    const refused = await call({ action: 'add', job: reminder }, { sessionKey: 'agent:main:subagent:1' });
    expect(refused.text).toContain('a subagent cannot schedule anything');
  });

  test('make more than its limit', async () => {
    onTestFinished(async () => {
      await removeCrons(rig.database.views, { name: like('n%') });
    });
    const names = Array.from({ length: CRONS_PER_AGENT_MAX }, (_, n) => `n${n + 1}`);
    const cron = { origin: 'agent', schedule: {}, target: 'main', payload: {} };
    await addCrons(rig.database.views, ...names.map((name) => ({ name, ...cron })));
    expect((await call({ action: 'add', job: reminder })).text).toContain('the largest number of crons');
  });
});

test.each([
  [{ action: 'add', job: { ...reminder, schedule: { kind: 'cron', expr: 'often' } } }, 'schedule.expr'],
  [{ action: 'add', job: {} }, 'schedule'],
  [{ action: 'remove' }, 'id'],
  [{ action: 'remove', id: 'x' }, 'there is no cron'],
  [{ action: 'dance' }, 'action'],
])('%j is an error result that names the fault', async (input, part) => {
  const refused = await call(input);
  expect(refused.isError).toBe(true);
  expect(refused.text).toContain(part);
});
