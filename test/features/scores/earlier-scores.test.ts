// Scores of versions that knew one for an author and a turn, with a number and a label.
import { readdirSync } from 'node:fs';
import pg from 'pg';
import { expect, test } from 'vitest';
import { layOut } from '../../../src/database/migrate.ts';
import { newId } from '../../../src/ids.ts';
import { createApiRig } from '../../api/api-rig.ts';
import { addEarlierScores, changeEarlierScores, readEarlierScores, readScores } from '../../rows/scores.ts';
import { addSessions } from '../../rows/sessions.ts';
import { addTurns } from '../../rows/turns.ts';
import { withTestDatabase } from '../../servers/postgres.ts';

test('scores of the version before are kept, also those that it writes while both run (G26)', async ({
  onTestFinished,
}) => {
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('drop schema if exists holdfast cascade');
  const names = readdirSync(new URL('../../../migrations/', import.meta.url));
  await layOut(client, { upTo: names.filter((name) => name.endsWith('.sql') && name < '0112') });
  const [sessionId, turnId] = [newId<string>(), newId<string>()];
  await addSessions(client, { id: sessionId, key: 'agent:main:judged' });
  await addTurns(client, { id: turnId, sessionId, endedAt: new Date() });
  const add = async (author: string, score: object) => {
    const id = newId<string>();
    await addEarlierScores(client, { id, sessionId, turnId, author, ...score });
    return id;
  };
  const shown = async () =>
    (await readScores(client, { turnId }, 'author', 'name', 'value', 'note')).map(Object.values<unknown>);
  await add('a', { score: -1, label: 'wrong tool', note: 'Ask.' });
  await add('b', { score: 0.5 });
  const words = await add('c', { label: 'slow', note: 'By far.' });
  await add('d', { note: 'Well done.' });
  await layOut(client, {});
  const rig = await createApiRig(database.url);
  onTestFinished(() => rig.close());
  expect(await shown()).toEqual([
    ['a', 'thumb', false, 'wrong tool: Ask.'],
    ['b', 'score', 0.5, null],
    ['c', 'label', 'slow', 'By far.'],
    ['d', 'note', 'Well done.', 'Well done.'],
  ]);

  await rig.post(`/v1/turns/${turnId}/scores`, { score: 'thumb', value: false, by: 'e' });
  const thumb = await add('e', { score: 1 });
  await changeEarlierScores(client, { id: words }, { score: -1 });
  expect(await shown()).toEqual([
    ['a', 'thumb', false, 'wrong tool: Ask.'],
    ['b', 'score', 0.5, null],
    ['c', 'thumb', false, 'slow: By far.'],
    ['d', 'note', 'Well done.', 'Well done.'],
    ['e', 'thumb', true, null],
  ]);

  expect((await rig.ask('DELETE', `/v1/scores/${thumb}`)).status).toBe(200);
  expect((await rig.get(`/v1/scores?turn=${turnId}&author=e`)).body.items).toEqual([]);
  expect(await readEarlierScores(client, { author: 'e' })).toEqual([]);
});
