// Goal: messages that each fit into the context of their model do not fail because they wait together. Method: 20 messages of 60 kB, a model
// server with the window of the configuration, and one with half of it, which refuses what the estimate allows.
import { expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { longText } from './seed-history.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const count = 20;
const tokensEach = 15_000;

let rigs: Record<'roomy' | 'tight', TurnRig>;

shareAmongTests(async (onEnd) => {
  const open = async (windowTokens: number): Promise<TurnRig> => {
    const database = await withTestDatabase();
    onEnd(() => database.drop());
    const rig = await createTurnRig(database.url, { windowTokens });
    onEnd(() => rig.close());
    return rig;
  };
  rigs = { roomy: await open(200_000), tight: await open(100_000) };
});

/** Runs turns until nothing waits, and returns what they answered: the numbers of their messages, or the code of their error. */
async function turnsOf(rig: TurnRig, name: string): Promise<(number[] | string)[]> {
  const worker = rig.worker();
  for (;;) {
    await rig.rows('update holdfast.doorbells set due_at = now(), gather_until = now()');
    if ((await worker.run(name)).kind === 'idle') break;
  }
  worker.stop();
  const rows = await rig.rows(
    `select t.error, (select json_agg(i.seq::int order by i.seq) from holdfast.inbox i where i.turn_id = t.id) as seqs
     from holdfast.turns t where t.session_id = $1 order by t.started_at`,
    [await rig.sessionOf(name)],
  );
  return rows.map(({ error, seqs }) => (error as { code: string } | null)?.code ?? (seqs as number[]));
}

async function sendAll(rig: TurnRig, name: string): Promise<void> {
  for (let n = 1; n <= count; n += 1) await rig.send(name, longText(tokensEach, `${n}. [[reply: read ${n}]] `));
}

const statusesOf = async (rig: TurnRig, name: string): Promise<unknown> =>
  rig.rows('select status, count(*)::int as n from holdfast.inbox where session_id = $1 group by status', [
    await rig.sessionOf(name),
  ]);

const all = Array.from({ length: count }, (_, index) => index + 1);

test('a turn takes as many messages as its context can take, and the rest waits for the next one (G3, G5)', async () => {
  const rig = rigs.roomy;
  await sendAll(rig, 'together');
  const turns = await turnsOf(rig, 'together');
  expect(await statusesOf(rig, 'together')).toEqual([{ status: 'answered', n: count }]);
  expect(turns.flat()).toEqual(all);
  expect(turns.length).toBeLessThan(5);
});

test('when the model refuses the prompt of several messages for its length, they wait again and half of them go first (G3, G5)', async () => {
  const rig = rigs.tight;
  await sendAll(rig, 'too-long');
  const sessionId = await rig.sessionOf('too-long');
  await rig.rows(
    `insert into holdfast.system_events (id, session_id, text, is_trusted, state) values (gen_random_uuid(), $1, 'The door opened.', true, 'queued')`,
    [sessionId],
  );
  const turns = await turnsOf(rig, 'too-long');
  expect(turns[0]).toBe('split');
  expect(await statusesOf(rig, 'too-long')).toEqual([{ status: 'answered', n: count }]);
  expect(turns.filter((turn) => turn !== 'split').flat()).toEqual(all);
  expect(await rig.rows('select * from holdfast.dead_letters where session_id = $1', [sessionId])).toEqual([]);
  expect(await rig.rows('select waiting, collect_max from holdfast.sessions where id = $1', [sessionId])).toEqual([
    { waiting: 0, collect_max: null },
  ]);
  // The event is in the prompt that was answered.
  expect(
    await rig.rows(`select t.status from holdfast.system_events e join holdfast.turns t on t.id = e.turn_id`),
  ).toEqual([{ status: 'completed' }]);
  // Nothing of the refused prompt is in a later request.
  const hidden = `select count(*)::int as n from holdfast.entries e join holdfast.turns t on t.id = e.turn_id
    where e.session_id = $1 and t.status = 'aborted' and e.state = 'active'`;
  expect(await rig.rows(hidden, [sessionId])).toEqual([{ n: 0 }]);
});

test('a single message that does not fit fails, and the message after it is answered', async () => {
  const rig = rigs.tight;
  await rig.send('one-too-long', longText(150_000));
  await rig.send('one-too-long', 'Hello [[reply: hello]]');
  expect(await turnsOf(rig, 'one-too-long')).toEqual(['split', 'blocked', [2]]);
});
