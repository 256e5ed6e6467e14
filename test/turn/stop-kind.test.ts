// The end of a stopped turn depends on the kind of the stop, never on its text. The turn is held
// inside a tool.
import { beforeEach, describe, expect, test } from 'vitest';
import { abortSession } from '../../src/kernel/effects/control.ts';
import { migrate } from '../../src/database/migrate.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { readEntries } from '../rows/entries.ts';
import { changeSessions, readSessions } from '../rows/sessions.ts';
import { ago, grouped } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { removeColumn } from '../rows/whole-tables.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let rig: TurnRig;
let url: string;
let entered: PromiseWithResolvers<void>;

const hold: Tool = {
  spec: { name: 'hold', description: 'Waits', input_schema: { type: 'object' } },
  summary: 'Waits',
  isIdempotent: false,
  async run(_, { signal }) {
    entered.resolve();
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  },
};

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  url = database.url;
  rig = await createTurnRig(url, { tools: [hold] });
  const made = rig;
  onEnd(() => made.close());
});
beforeEach(() => {
  entered = Promise.withResolvers();
});

/** A turn inside its tool. */
async function heldTurn(name: string) {
  const worker = rig.worker();
  await rig.send(name, '[[tool: hold {}]]');
  const running = worker.run(name);
  await entered.promise;
  return { worker, running };
}

/**
 * How the first turn of a session ended, and which of its entries the next prompt still contains.
 */
async function endOf(name: string) {
  const sessionId = await rig.sessionOf(name);
  const [turn] = await readTurns(rig, { sessionId }, 'status', 'error');
  const states = grouped(await readEntries(rig, { sessionId }, 'state'), 'state');
  const [session] = await readSessions(rig, { id: sessionId }, 'wasAborted', 'stopKind', 'stopReason');
  return { ...turn, states: states.map(({ state }) => state), ...session };
}

test('a stop whose text reads like that of a rollback hides no entry (G24)', async () => {
  const { worker, running } = await heldTurn('sentence');
  const reason = 'rolled back by a newer message';
  await abortSession(rig, { sessionKey: 'agent:main:sentence', keepQueued: true, reason });
  expect(await running).toMatchObject({ kind: 'ended' });
  expect(await endOf('sentence')).toMatchObject({
    error: { code: 'aborted', message: reason },
    states: ['active'],
    wasAborted: true,
  });
  worker.stop();
});

describe('a turn that was stopped before the migration of the stop kinds, and whose worker has crashed, ends', () => {
  test.each([
    ['interrupted', 'interrupted by a newer message', { code: 'interrupted', states: ['active'], wasAborted: true }],
    ['rolled back', 'rolled back by a newer message', { code: 'interrupted', states: ['hidden'], wasAborted: false }],
    ['aborted', 'stopped by the user', { code: 'aborted', states: ['active'], wasAborted: true }],
  ])('%s', async (kind, reason, { code, states, wasAborted }) => {
    const name = kind.replace(' ', '-');
    const { worker } = await heldTurn(name);
    // It no longer renews its lease and no longer polls for stops.
    worker.stop();
    await removeColumn(rig, { table: 'sessions', column: 'stop_kind', migration: '0014_stop_kind.sql' });
    await changeSessions(
      rig,
      { id: await rig.sessionOf(name) },
      { stopReason: reason, leaseExpiresAt: ago('1 second') },
    );
    expect(await migrate(url)).toMatchObject({ applied: ['0014_stop_kind.sql'] });
    const next = rig.worker();
    expect(await next.run(name)).toMatchObject({ kind: 'ended' });
    next.stop();
    expect(await endOf(name)).toEqual({
      status: 'aborted',
      error: { code, message: reason },
      states,
      wasAborted: wasAborted,
      stopKind: null,
      stopReason: null,
    });
  });
});
