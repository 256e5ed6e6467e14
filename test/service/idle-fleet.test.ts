// Goal: idle sessions cause no cost: a thousand sessions with heartbeats whose gate does not change
// make no model call, and the one whose gate changes makes one. Method: a real service with two
// schedulers, and a model server that counts calls.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { readHeartbeats } from '../rows/heartbeats.ts';
import { readInputs } from '../rows/inputs.ts';
import { grouped, not } from '../rows/table.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { openServiceRig, type ServiceRig } from './rig/service-rig.ts';

const fleet = 1_000;
const pollsWanted = 2 * fleet;
const withinMs = 240_000;

let rig: ServiceRig;
let dir: string;

shareAmongTests(async (onEnd) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-fleet-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  dir = folder;
  const list = Array.from({ length: fleet }, (_, n) => ({
    id: `agent-${n}`,
    workspace: dir,
    ...(n === 0 ? { heartbeat: { when: { file: 'changing' } } } : {}),
  }));
  const heartbeat = { every: '4s', prompt: 'Look around. [[reply: HEARTBEAT_OK]]', when: { file: 'still' } };
  const opened = await openServiceRig({ queue: 'postgres', config: { agents: { defaults: { heartbeat }, list } } });
  onEnd(() => opened.close());
  rig = opened;
  await rig.start('worker');
  await Promise.all([rig.start('scheduler'), rig.start('scheduler')]);
});

async function pollsBy(column: 'reason' | 'result' | 'status'): Promise<object[]> {
  const polls = grouped(await readHeartbeats(rig, { status: not('claimed') }), column);
  return polls.map((row) => ({ name: row[column], polls: row.n }));
}

test.runIf(isLongForm())('idle sessions with heartbeats and an unchanged gate call no model', async () => {
  await waitUntil('every agent was polled twice', withinMs, async () => {
    const polls = await readHeartbeats(rig, { status: 'skipped' }, 'agentId');
    return new Set(polls.map(({ agentId }) => agentId)).size === fleet && polls.length >= pollsWanted;
  });
  expect(await pollsBy('reason')).toEqual([{ name: 'unchanged', polls: expect.any(Number) }]);
  expect(rig.model.requests).toEqual([]);
  expect(await readInputs(rig, {}, 'id')).toEqual([]);
  // In one step: a poll that found the file empty would be followed by another one that finds its
  // content.
  writeFileSync(join(dir, 'changed'), 'something');
  renameSync(join(dir, 'changed'), join(dir, 'changing'));
  await waitUntil('the agent whose gate has changed was asked', withinMs, async () => rig.model.requests.length > 0);
  await waitUntil('it has acknowledged', withinMs, async () => {
    const [row] = await readHeartbeats(rig, { result: 'acknowledged' }, 'agentId');
    return row?.agentId === 'agent-0';
  });
  expect(rig.model.requests).toHaveLength(1);
});
