// A builder for families that are deeper than the limits of the configuration allow.
import type { SessionId, SessionKey } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { storeSpawn } from '../../src/store/spawn.ts';
import type { ApiRig } from './api-rig.ts';

export interface SpawnedBelow {
  runId: string;
  key: string;
}

/** Spawns below any session, however deep it is. */
export async function spawnBelow(
  rig: ApiRig,
  parentKey: string,
  { label, task = '[[reply: done]]' }: { label: string; task?: string },
): Promise<SpawnedBelow> {
  const [row] = await rig.rows('select id, cardinality(ancestors) as depth from holdfast.sessions where key = $1', [
    parentKey,
  ]);
  const { id, depth } = row as { id: SessionId; depth: number };
  const spawned = await storeSpawn(rig.turns.database, {
    parent: { id, key: parentKey as SessionKey, agentId: 'main', depth },
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
    causeKey: newId<string>(),
    turnId: null,
    originRoute: 'route',
    limits: { depthMax: 5, childrenMax: 20, descendantsMax: 50 },
  });
  if (spawned.kind !== 'spawned') throw new Error(`The spawn was refused: ${spawned.code}.`);
  return { runId: spawned.runId, key: spawned.childKey };
}
