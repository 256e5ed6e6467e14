// Builders for tests of families: a session that spawns, and its request.
import type { SessionId, SessionKey } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { storeSpawn, type NewSpawn, type SpawnResult } from '../../src/features/subagents/store/spawn.ts';
import { readSessions } from '../rows/sessions.ts';
import type { StoreRig } from './store-rig.ts';

/** Settings with these limits. */
export function spawnSettings(maxSpawnDepth: number, maxChildrenPerSession: number, maxDescendants: number) {
  return { maxSpawnDepth, maxChildrenPerSession, maxDescendants, runTimeoutSeconds: 0, allowAgents: [] };
}

/** An ordinary spawn from outside a turn. */
export async function spawnFrom(
  rig: Pick<StoreRig, 'database' | 'rows'>,
  parentId: SessionId,
  { task = 'a task', label = null, ...more }: Partial<NewSpawn> & { task?: string; label?: string | null } = {},
): Promise<SpawnResult> {
  const [parent] = await readSessions(rig, { id: parentId }, 'key', 'ancestors');
  const { key, ancestors } = parent!;
  return storeSpawn(rig.database, {
    parent: { id: parentId, key: key as SessionKey, agentId: 'main', depth: ancestors.length },
    plan: {
      agentId: 'main',
      task,
      label,
      model: null,
      thinking: null,
      runTimeoutSeconds: 0,
      cleanup: 'keep',
      mode: 'run',
      deliver: null,
    },
    body: JSON.stringify({ text: task }),
    route: 'route',
    cause: { turnId: null, causeKey: newId<string>(), sentBy: null, idempotency: null },
    originRoute: 'route',
    settings: spawnSettings(3, 5, 10),
    ...more,
  });
}

/** The child of a spawn that must succeed. */
export async function childOf(rig: StoreRig, parentId: SessionId): Promise<{ childId: SessionId; runId: string }> {
  const result = await spawnFrom(rig, parentId);
  if (result.kind !== 'spawned') throw new Error(`The spawn was refused: ${result.code}.`);
  return result;
}

/** The counts in the row of a session. */
export async function familyCounts(rig: StoreRig, sessionId: SessionId): Promise<unknown> {
  const [row] = await readSessions(rig, { id: sessionId }, 'waiting', 'liveChildren', 'liveDescendants');
  return row && { waiting: row.waiting, children: row.liveChildren, descendants: row.liveDescendants };
}
