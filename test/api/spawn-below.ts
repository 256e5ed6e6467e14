// A builder for families that are deeper than the limits of the configuration allow.
import type { SessionId } from '../../src/core/ids.ts';
import { readSessions } from '../rows/sessions.ts';
import { spawnFrom, spawnSettings } from '../store/family-builders.ts';
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
  const [row] = await readSessions(rig, { key: parentKey }, 'id');
  const { id } = row as { id: SessionId };
  const settings = spawnSettings(5, 20, 50);
  const spawned = await spawnFrom({ database: rig.turns.database, rows: rig.rows }, id, { task, label, settings });
  if (spawned.kind !== 'spawned') throw new Error(`The spawn was refused: ${spawned.code}.`);
  return { runId: spawned.runId, key: spawned.childKey };
}
