// Goal: idle sessions cause no cost: a thousand sessions with heartbeats whose gate does not change make no model
// call, and the one whose gate changes makes one. Method: a real service with two schedulers, and a model server that counts calls.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
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

function pollsBy(column: string): Promise<{ name: string; polls: number }[]> {
  return rig.rows(
    `select ${column} as name, count(*)::int as polls from holdfast.heartbeats where status <> 'claimed' group by 1 order by 1`,
  );
}

test.runIf(isLongForm())('idle sessions with heartbeats and an unchanged gate call no model', async () => {
  await waitUntil('every agent was polled twice', withinMs, async () => {
    const [row] = await rig.rows<{ agents: number; polls: number }>(
      `select count(distinct agent_id)::int as agents, count(*)::int as polls from holdfast.heartbeats where status = 'skipped'`,
    );
    return row?.agents === fleet && row.polls >= pollsWanted;
  });
  expect(await pollsBy('reason')).toEqual([{ name: 'unchanged', polls: expect.any(Number) }]);
  expect(rig.model.requests).toEqual([]);
  expect(await rig.rows('select id from holdfast.inbox')).toEqual([]);
  // In one step: a poll that found the file empty would be followed by another one that finds its content.
  writeFileSync(join(dir, 'changed'), 'something');
  renameSync(join(dir, 'changed'), join(dir, 'changing'));
  await waitUntil('the agent whose gate has changed was asked', withinMs, async () => rig.model.requests.length > 0);
  await waitUntil('it has acknowledged', withinMs, async () => {
    const [row] = await rig.rows<{ agent_id: string }>(
      `select agent_id from holdfast.heartbeats where result = 'acknowledged'`,
    );
    return row?.agent_id === 'agent-0';
  });
  expect(rig.model.requests).toHaveLength(1);
});
