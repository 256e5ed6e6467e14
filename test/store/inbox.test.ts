// Messages over the cap of a session: which are dropped, and what a failure of the statement that
// drops them leaves.
import { expect, onTestFinished, test } from 'vitest';
import type { TurnId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { openDatabase } from '../../src/database/database.ts';
import { createInbox } from '../../src/kernel/inbox/inbox.ts';
import { removeDoorbells } from '../rows/doorbells.ts';
import { readInputs } from '../rows/inputs.ts';
import { readSessions } from '../rows/sessions.ts';
import { startPostgresProxy } from '../servers/postgres-proxy.ts';
import { createStoreRig, newTurn } from './store-rig.ts';

test('a message over the cap is accepted and rung for even if the connection breaks while the oldest is dropped (G1, G23)', async () => {
  const rig = await createStoreRig();
  onTestFinished(() => rig.drop());
  const { hostname, port } = new URL(rig.url);
  const proxy = await startPostgresProxy({ host: hostname, port: Number(port) });
  onTestFinished(() => proxy.close());
  const database = openDatabase({ url: proxy.urlFor(rig.url), role: 'test', hotConnections: 1 });
  onTestFinished(() => database.close());
  const { accept } = createInbox(database);
  const sessionId = await rig.session();
  const queue = { mode: 'collect', cap: 1, drop: 'old' } as const;
  await accept(rig.input(sessionId, { queue }));
  await removeDoorbells(rig);
  const broken = proxy.arm({ when: 'before', at: 1, matches: ({ tag }) => tag === 'drop-overflow', hit: () => 'drop' });
  const accepted = await accept(rig.input(sessionId, { queue }));
  await broken.reached;
  expect(accepted.kind).toBe('accepted');
  expect(accepted.after?.rings).toMatchObject([{ kind: 'inbound', sessionId }]);
  expect(await readInputs(rig, {}, 'status')).toEqual([{ status: 'dropped' }, { status: 'waiting' }]);
});

test('a message that a worker has read for its turn is not dropped while the worker assembles the prompt (G4, G5)', async () => {
  const rig = await createStoreRig();
  onTestFinished(() => rig.drop());
  const sessionId = await rig.session();
  const { accept } = createInbox(rig.database);
  const queue = { mode: 'collect', cap: 1, drop: 'old' } as const;
  await accept(rig.input(sessionId, { queue }));
  const claimed = await rig.claimed(sessionId);
  await accept(rig.input(sessionId, { queue }));
  expect(await rig.openTurn(newTurn(claimed, newId<TurnId>()))).toMatchObject({ kind: 'ok' });
  expect(await readInputs(rig, {}, 'status')).toEqual([{ status: 'claimed' }, { status: 'waiting' }]);
  expect(await readSessions(rig, { id: sessionId }, 'waiting')).toEqual([{ waiting: 1 }]);
});
