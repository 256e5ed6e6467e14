// Whether every message that waits in a session of a scenario says why it waits, and says what the
// scenario knows.
import { pause, resume } from '../../../src/kernel/processes/pause.ts';
import { listWaiting } from '../../../src/kernel/views/waiting.ts';
import { reportWorker } from '../../../src/kernel/processes/report-worker.ts';
import { newId } from '../../../src/ids.ts';
import { ahead } from '../../rows/table.ts';
import { changeWorkers } from '../../rows/workers.ts';
import type { TurnRig } from '../turn-rig.ts';
import { EVERYTHING } from '../../../src/core/scope.ts';

/** More than a scenario has. */
const MESSAGES_MAX = 200;

/**
 * A process with free slots, whose report stays fresh however long the test takes: what waits does
 * not wait for a worker.
 */
export async function reportFreeWorker(rig: TurnRig): Promise<void> {
  const identity = { id: newId<string>(), name: 'free', host: 'host', pid: 1, roles: ['worker'], version: '1.0.0' };
  const facts = { isQueueAway: false, isDraining: false, isReconcilerStalled: false };
  await reportWorker(rig.database, identity, { lanes: { main: { slots: 10_000, inUse: 0 } }, ...facts });
  await changeWorkers(rig, {}, { seenAt: ahead('1 day') });
}

/**
 * Resolves with how the reasons of what waits in a session differ from the expected one; null: each
 * message has it.
 */
export async function wrongReasons(rig: TurnRig, sessionKey: string, expected: string): Promise<string | null> {
  const page = { limit: MESSAGES_MAX, after: null };
  const { items } = await listWaiting(rig.database.views, { scope: EVERYTHING, sessionKey }, page);
  const wrong = items.filter(({ why }) => why.code !== expected || why.text === '' || !(Date.parse(why.since) > 0));
  return wrong.length === 0 ? null : `waits for ${JSON.stringify(wrong.map(({ why }) => why))}, expected ${expected}`;
}

/** The same while the session is paused. */
export async function wrongReasonsPaused(rig: TurnRig, sessionKey: string): Promise<string | null> {
  const scope = { lane: null, agent: null, session: sessionKey };
  await pause(rig.database, scope, { reason: null, by: 'test', idempotency: null });
  const wrong = await wrongReasons(rig, sessionKey, 'paused');
  await resume(rig.database, scope, null);
  return wrong;
}
