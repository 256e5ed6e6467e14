// `holdfast spawn` and `holdfast subagents` against a real API, with real turns.
import { expect, test } from 'vitest';
import { spawnBelow } from '../../api/spawn-below.ts';
import { useCliRig } from '../../cli/use-cli-rig.ts';

const { holder, run } = useCliRig();
test('a subagent is spawned, listed, and its result waited for', async () => {
  const { rig } = holder;
  const spawned = await run('spawn', 'main', '[[reply: forty-two]]', '--label', 'count', '--timeout', '60');
  expect(spawned).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
  expect(spawned.stderr).toMatch(/works in agent:main:subagent:[0-9a-f-]+; its result is announced to main/);
  const listed = await run('subagents', 'list', 'main');
  expect(listed.stdout).toMatch(/running +Subagent “count”/);
  const runId = spawned.stdout.trim();
  const again = await run('spawn', 'main', '[[reply: two]]', '--wait', '0', '--json', '--idempotency-key', 'k');
  expect(again).toMatchObject({ code: 124 });
  const { items } = (await rig.get('/v1/sessions/main/subagents')).body;
  for (const item of items) await rig.work(item.childSessionKey);
  const waited = await run('spawn', 'main', '[[reply: two]]', '--wait', '0', '--idempotency-key', 'k');
  expect(waited).toMatchObject({ code: 0, stdout: 'two\n' });
  const json = JSON.parse((await run('subagents', 'list', 'main', '--json')).stdout);
  expect(json.items.at(-1)).toMatchObject({ runId, status: 'ok', result: 'forty-two' });
});

test('a run is messaged and stopped; each impossible action has its exit code', async () => {
  const { rig } = holder;
  const runId = (await run('spawn', 'other', 'waits')).stdout.trim();
  expect(await run('subagents', 'steer', runId, 'look left')).toMatchObject({ code: 0, stdout: 'waits\n' });
  expect(await run('subagents', 'kill', runId)).toMatchObject({ code: 0, stdout: '1 stopped\n' });
  expect(await run('subagents', 'kill', runId)).toMatchObject({ code: 0, stdout: 'the run had already ended\n' });
  expect((await run('subagents', 'steer', runId, 'too late')).code).toBe(6);
  expect((await run('subagents', 'list', 'nobody')).code).toBe(5);
  expect((await run('spawn', 'other', ' ')).code).toBe(2);
  expect((await rig.get(`/v1/subagents/${runId}`)).body.status).toBe('killed');
});

test('a run is stopped without those below it', async () => {
  const { rig } = holder;
  const top = (await run('spawn', 'kept', 'waits')).stdout.trim();
  const { childSessionKey } = (await rig.get(`/v1/subagents/${top}`)).body;
  const below = await spawnBelow(rig, childSessionKey, { label: 'waits' });
  expect(await run('subagents', 'kill', top, '--keep-below')).toMatchObject({ code: 0, stdout: '1 stopped\n' });
  expect((await rig.get(`/v1/subagents/${below.runId}`)).body.status).toBe('running');
});
