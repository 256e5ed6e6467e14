// What an input says about its turn holds for everything that the turn starts: subagents and the
// announcements of their ends, messages to other sessions, waits, crons.
import { beforeEach, expect, test } from 'vitest';
import type { InputOptions } from '../../src/core/input-options.ts';
import type { Service } from '../../src/kernel/use-cases/service.ts';
import { causeOfRequest, spawnSubagent, steerSubagent } from '../../src/features/subagents/use-cases.ts';
import { wakeOverdue } from '../../src/features/subagents/store/overdue.ts';
import { createCronTool } from '../../src/features/crons/cron-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { readCrons } from '../rows/crons.ts';
import { changeYields } from '../rows/doorbells.ts';
import { readInputs } from '../rows/inputs.ts';
import { now } from '../rows/table.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { recordedService } from '../service/recorded-service.ts';
import { createFamilyRig, spawnCall, type FamilyRig } from './family-rig.ts';

let rig: FamilyRig;
let service: Service;
let worker: ReturnType<FamilyRig['worker']>;
let sessions = 0;
/** A session that no other test uses. */
let name: string;

const OPTIONS: InputOptions = { tools: { deny: ['order*'] }, tags: { customer: '42' } };

let during: () => Promise<unknown>;

function toolNamed(tool: string, run: Tool['run']): Tool {
  const spec = { name: tool, description: tool, input_schema: { type: 'object' as const } };
  return { spec, summary: tool, isIdempotent: false, run };
}

/** Runs a step of the test in the middle of a turn. */
const pause = toolNamed('pause', async () => {
  await during();
  return { content: 'done', isError: false };
});
const order = toolNamed('order', async () => ({ content: 'ordered', isError: false }));

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const tools = [pause, order];
  rig = await createFamilyRig(
    database.url,
    {
      tools: { deny: ['agents_list'], sessions: { visibility: 'agent' } },
      agents: { defaults: { subagents: { maxSpawnDepth: 2 } } },
    },
    tools,
  );
  ({ service } = recordedService(rig));
  tools.push(createCronTool(service));
  worker = rig.worker();
  const made = rig;
  onEnd(() => made.close());
});

beforeEach(() => {
  sessions += 1;
  name = `options-${sessions}`;
});

/** The names of the tools in the last request of a session. */
function toolsOf(key: string): string[] {
  return rig.lastBody(key).tools.map((tool) => tool.name);
}

async function lastInput(session: string): Promise<Record<string, unknown>> {
  const row = (await readInputs(rig, { sessionId: await rig.sessionOf(session) }, 'kind', 'options')).at(-1);
  return row ?? {};
}

test('a turn has the tools of its agent that its message allows, and no others (G30)', async () => {
  const tools = { allow: ['order', 'sessions_*', 'agents_list', 'exec'], deny: ['sessions_send'] };
  await rig.send(name, '[[tool: pause {}]] [[reply: done]]', { options: { tools } });
  await worker.run(name);
  expect(toolsOf(`agent:main:${name}`).toSorted()).toEqual([
    'order',
    'sessions_history',
    'sessions_list',
    'sessions_spawn',
    'sessions_yield',
  ]);
  expect(rig.lastRequest(`agent:main:${name}`)).toContain('Unknown tool');
});

test('a subagent has no more tools than the turn that spawned it, nor has the turn that answers its announcement (G30)', async () => {
  await rig.send(name, `${spawnCall('[[reply: found]]')} [[reply: started]]`, { options: OPTIONS });
  await worker.run(name);
  const [run] = await rig.runsOf(name);
  await worker.runSession(run!.childId);
  expect(toolsOf(run!.childKey)).toContain('pause');
  expect(toolsOf(run!.childKey)).not.toContain('order');
  await rig.gathered(await rig.sessionOf(name));
  await worker.run(name);
  expect(await lastInput(name)).toEqual({ kind: 'announcement', options: OPTIONS });
  expect(toolsOf(`agent:main:${name}`)).not.toContain('order');
});

test('a message to a subagent joins its turn and has the options of its run, also when it begins again', async () => {
  const cause = causeOfRequest(null, null);
  const task = '[[tool: pause {}]] [[reply: done]]';
  const request = { task, mode: 'session' as const, options: OPTIONS };
  const spawned = await spawnSubagent(service, `agent:main:${name}`, { cause, request });
  if (spawned.kind !== 'spawned') throw new Error(spawned.kind);
  const { runId, childId, childKey } = spawned;
  const steer = { runId, text: 'hurry', from: null, cause };
  during = () => steerSubagent(service, steer);
  await worker.runSession(childId);
  expect(rig.lastRequest(childKey)).toContain('hurry');
  expect(await steerSubagent(service, { ...steer, text: 'once more' })).toMatchObject({ kind: 'again' });
  await worker.runSession(childId);
  expect(rig.lastPrompt(childKey)).toContain('once more');
  expect(toolsOf(childKey)).not.toContain('order');
});

test('an exchange with another session has the options of the turn that began it, in both directions', async () => {
  const other = `${name}-other`;
  await rig.sessionOf(other);
  const call = `[[tool: sessions_send {"sessionKey":"${other}","message":"How many?"}]] [[reply: I have asked.]]`;
  await rig.send(name, call, { options: OPTIONS });
  await worker.run(name);
  await worker.run(other);
  expect(toolsOf(`agent:main:${other}`)).not.toContain('order');
  expect(await lastInput(name)).toEqual({ kind: 'message', options: OPTIONS });
});

test('the end of a wait has the options of the turn that waits', async () => {
  await rig.send(name, '[[tool: sessions_yield {"timeoutSeconds": 1}]] [[reply: never]]', { options: OPTIONS });
  await worker.run(name);
  await changeYields(rig, {}, { dueAt: now });
  await wakeOverdue(rig.database);
  expect(await lastInput(name)).toEqual({ kind: 'announcement', options: OPTIONS });
});

test('a cron that a turn makes or changes has the options of that turn', async () => {
  const job = (text: string) =>
    JSON.stringify({
      name,
      schedule: { kind: 'every', everyMs: 60_000 },
      payload: { kind: 'agentTurn', message: text },
    });
  const optionsOf = async () => readCrons(rig, { name }, 'id', 'options');
  await rig.send(name, `[[tool: cron {"action": "add", "job": ${job('one')}}]] [[reply: done]]`);
  await worker.run(name);
  const [cron] = await optionsOf();
  expect(cron).toMatchObject({ options: null });
  const change = `[[tool: cron {"action": "update", "id": "${String(cron?.['id'])}", "job": ${job('two')}}]] [[reply: done]]`;
  await rig.send(name, change, { options: OPTIONS });
  await worker.run(name);
  expect(await optionsOf()).toMatchObject([{ options: OPTIONS }]);
});

test('messages with other options do not share a turn, and none joins a turn that has others (G6)', async () => {
  const statuses = async () =>
    (await readInputs(rig, { sessionId: await rig.sessionOf(name) }, 'status')).map(({ status }) => status);
  await rig.send(name, 'one', { options: OPTIONS });
  await rig.send(name, 'two');
  await worker.run(name);
  expect(await statuses()).toEqual(['answered', 'waiting']);
  await rig.gathered(await rig.sessionOf(name));
  await worker.run(name);
  during = () => rig.send(name, 'three', { mode: 'steer' });
  await rig.send(name, '[[tool: pause {}]] [[reply: done]]', { options: OPTIONS }, 'cron');
  await worker.run(name);
  expect(await statuses()).toEqual(['answered', 'answered', 'answered', 'waiting']);
});
