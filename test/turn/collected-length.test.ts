// Goal: messages that each fit into the context of their model do not fail because they wait
// together. Method: 20 messages of 60 kB, a model server with the window of the configuration, and
// one with half of it, which refuses what the estimate allows.
import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { readDeadLetters } from '../rows/dead-letters.ts';
import { changeDoorbells } from '../rows/doorbells.ts';
import { countEntries } from '../rows/entries.ts';
import { readInputs } from '../rows/inputs.ts';
import { readSessions } from '../rows/sessions.ts';
import { addSystemEvents, readSystemEvents } from '../rows/system-events.ts';
import { grouped, not, now } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
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

/**
 * Runs turns until nothing waits, and returns what they answered: the numbers of their messages, or
 * the code of their error.
 */
async function turnsOf(rig: TurnRig, name: string): Promise<(number[] | string)[]> {
  const worker = rig.worker();
  for (;;) {
    await changeDoorbells(rig, {}, { dueAt: now, gatherUntil: now });
    if ((await worker.run(name)).kind === 'idle') break;
  }
  worker.stop();
  const sessionId = await rig.sessionOf(name);
  const inputs = await readInputs(rig, { sessionId }, 'seq', 'turnId');
  const turns = await readTurns(rig, { sessionId }, 'id', 'code');
  return turns.map(({ id, code }) => code ?? inputs.filter(({ turnId }) => turnId === id).map(({ seq }) => seq));
}

async function sendAll(rig: TurnRig, name: string): Promise<void> {
  for (let n = 1; n <= count; n += 1) await rig.send(name, longText(tokensEach, `${n}. [[reply: read ${n}]] `));
}

const statusesOf = async (rig: TurnRig, name: string): Promise<unknown> =>
  grouped(await readInputs(rig, { sessionId: await rig.sessionOf(name) }, 'status'), 'status');

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
  await addSystemEvents(rig, {
    id: newId<string>(),
    sessionId,
    text: 'The door opened.',
    isTrusted: true,
    state: 'queued',
  });
  const turns = await turnsOf(rig, 'too-long');
  expect(turns[0]).toBe('split');
  expect(await statusesOf(rig, 'too-long')).toEqual([{ status: 'answered', n: count }]);
  expect(turns.filter((turn) => turn !== 'split').flat()).toEqual(all);
  expect(await readDeadLetters(rig, { sessionId })).toEqual([]);
  expect(await readSessions(rig, { id: sessionId }, 'waiting', 'collectMax')).toEqual([
    { waiting: 0, collectMax: null },
  ]);
  // The event is in the prompt that was answered.
  const [event] = await readSystemEvents(rig, { turnId: not(null) }, 'turnId');
  expect(await readTurns(rig, { id: event!.turnId! }, 'status')).toEqual([{ status: 'completed' }]);
  // Nothing of the refused prompt is in a later request.
  const refused = (await readTurns(rig, { sessionId, status: 'aborted' }, 'id')).map(({ id }) => id);
  expect(await countEntries(rig, { turnId: refused, state: 'active' })).toBe(0);
});

test('a single message that does not fit fails, and the message after it is answered', async () => {
  const rig = rigs.tight;
  await rig.send('one-too-long', longText(150_000));
  await rig.send('one-too-long', 'Hello [[reply: hello]]');
  expect(await turnsOf(rig, 'one-too-long')).toEqual(['split', 'blocked', [2]]);
});
