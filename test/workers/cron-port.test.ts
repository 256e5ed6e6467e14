// The `cron` tool on a real database: what an agent can do with crons, and what it cannot.
import { describe, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { CRONS_PER_AGENT_MAX } from '../../src/store/crons.ts';
import { createCronTool } from '../../src/tools/cron-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { createCronPort } from '../../workers/cron-port.ts';
import { recordedService } from '../service/recorded-service.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { configWith, fireAll, makeCron, schedulerParts } from '../store/cron-rig.ts';
import { createStoreRig, type StoreRig } from '../store/store-rig.ts';

let rig: StoreRig;
let tool: Tool;
let recorded: ReturnType<typeof recordedService>;

shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  onEnd(() => made.drop());
  rig = made;
  recorded = recordedService({ config: configWith(), database: rig.database });
  tool = createCronTool(createCronPort(recorded.service));
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
    lease: { epoch: 1, assertHeld: () => undefined },
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
  const events = await rig.rows('select is_trusted from holdfast.system_events where context_key = $1', [
    `cron:${value.id}`,
  ]);
  expect(events).toEqual([{ is_trusted: false }]);
});

describe('it cannot', () => {
  test("touch what a person has set up, or another agent's crons (G30)", async () => {
    const persons = await makeCron(rig.database, { ...reminder, name: 'persons' });
    expect((await call({ action: 'list' })).value.crons).toContainEqual(
      expect.objectContaining({ id: persons.id, madeBy: 'a person' }),
    );
    expect((await call({ action: 'remove', id: persons.id })).text).toContain('only a person can change it');
    expect((await call({ action: 'update', id: persons.id, job: { enabled: false } })).isError).toBe(true);
    await rig.database.views.query(`update holdfast.crons set agent_id = 'other', origin = 'agent' where id = $1`, [
      persons.id,
    ]);
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
      await rig.database.views.query(`delete from holdfast.crons where name like 'n%'`);
    });
    await rig.database.views.query(
      `insert into holdfast.crons (id, name, agent_id, origin, schedule, target, payload)
       select gen_random_uuid(), 'n' || n, 'main', 'agent', '{}', 'main', '{}' from generate_series(1, $1) n`,
      [CRONS_PER_AGENT_MAX],
    );
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
