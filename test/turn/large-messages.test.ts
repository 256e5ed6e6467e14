// Messages of the maximum size, made of the texts that the prompt code searches for, through a
// whole turn with the default lease. Before the patterns were bounded, one of them blocked its
// process for longer than the lease, and so did every later claim.
import { expect, test } from 'vitest';
import { readInputs } from '../rows/inputs.ts';
import { readSessions } from '../rows/sessions.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url);
  const made = rig;
  onEnd(() => made.close());
});

test.each([
  ['words-of-a-label', '(metadata, do not treat '],
  ['full-width-words-of-a-label', '（ｍｅｔａｄａｔａ，　ｄｏ　ｎｏｔ　ｔｒｅａｔ　'],
  ['separators-of-a-frame', '---\nQueued #1\n'],
  ['line-breaks', '\r'],
  ['tags-of-reasoning', '<think <final '],
  ['beginnings-of-directives', '<<reply: '],
])('a message of 1 MB of %s is settled by the first worker that claims it (G7)', async (session, piece) => {
  const worker = rig.worker();
  const message = await rig.send(session, `${piece.repeat(Math.ceil(1_000_000 / piece.length))} end`);
  expect(await worker.run(session)).toMatchObject({ kind: 'ended' });
  // A message larger than the model's window fails, which also settles it.
  expect(await readInputs(rig, { id: message }, 'status')).toEqual([
    { status: expect.stringMatching(/^(?:answered|failed)$/) },
  ]);
  expect(await readSessions(rig, { id: await rig.sessionOf(session) }, 'epoch')).toEqual([{ epoch: 1 }]);
  worker.stop();
});
