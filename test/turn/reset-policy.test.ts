// Sessions that the configuration resets automatically (G15): the old transcript is kept and
// linked, every subscriber receives the reason, and neither heartbeats nor time alone reset a
// session.
import { expect, test } from 'vitest';
import { idAt } from '../../src/database/page.ts';
import { retryTurn } from '../../src/kernel/turn/journal/retry-turn.ts';
import { readEntries } from '../rows/entries.ts';
import { readEvents } from '../rows/events.ts';
import { changeInputs, readInputs } from '../rows/inputs.ts';
import { earlier } from '../rows/table.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { settings: { session: { reset: { mode: 'idle', idleMinutes: 60 } } } });
  const made = rig;
  onEnd(() => made.close());
});

async function play(name: string, text: string, kind: 'message' | 'heartbeat' = 'message'): Promise<void> {
  const worker = rig.worker();
  await rig.send(name, text, {}, kind);
  await worker.run(name);
  worker.stop();
}

/** Makes everything that was received so far this many minutes older. */
async function pass(name: string, minutes: number): Promise<void> {
  await changeInputs(rig, { sessionId: await rig.sessionOf(name) }, { receivedAt: earlier(`${minutes} minutes`) });
}

async function transcripts(name: string) {
  const session = [await rig.sessionOf(name)];
  const entries = await readEntries(rig, { sessionId: session[0] }, 'transcriptNo');
  const events = await readEvents(rig, { sessionId: session[0], type: 'session.reset' }, 'data');
  return { entries: entries.map((row) => row['transcriptNo']), resets: events.map((row) => row['data']) };
}

test('the first message after an idle time starts a new transcript, once, and says why', async () => {
  await play('quiet', 'one');
  await pass('quiet', 61);
  await play('quiet', 'two');
  await play('quiet', 'three');
  expect(await transcripts('quiet')).toEqual({
    entries: [1, 1, 2, 2, 2, 2],
    resets: [expect.objectContaining({ previousTranscriptNo: 1, transcriptNo: 2, reason: 'idle' })],
  });
  expect(JSON.stringify(rig.scripted.requests.at(-1))).not.toContain('"one"');
});

test('a message within the time continues the transcript', async () => {
  await play('lively', 'one');
  await pass('lively', 59);
  await play('lively', 'two');
  expect((await transcripts('lively')).resets).toEqual([]);
});

test('a heartbeat neither starts a new transcript nor keeps a session active', async () => {
  await play('polled', 'one');
  await pass('polled', 30);
  await play('polled', 'Read HEARTBEAT.md', 'heartbeat');
  await pass('polled', 31);
  await play('polled', 'Read HEARTBEAT.md', 'heartbeat');
  expect((await transcripts('polled')).resets).toEqual([]);
  await play('polled', 'two');
  expect((await transcripts('polled')).resets).toEqual([expect.objectContaining({ reason: 'idle' })]);
});

test('waiting messages do not reset one another', async () => {
  await play('burst', 'one');
  await pass('burst', 61);
  await rig.send('burst', 'two', { mode: 'followup' });
  await rig.send('burst', 'three', { mode: 'followup' });
  const worker = rig.worker();
  await worker.run('burst');
  await worker.run('burst');
  worker.stop();
  expect(await transcripts('burst')).toMatchObject({ entries: [1, 1, 2, 2, 2, 2], resets: [{}] });
});

test('a message that is retried later continues the transcript that it was sent to', async () => {
  await play('retried', 'one');
  await play('retried', 'two [[error: 401]]');
  await pass('retried', 120);
  const [message] = await readInputs(
    rig,
    { status: 'failed', sessionId: await rig.sessionOf('retried') },
    'id',
    'turnId',
  );
  // Its id is as old as it.
  await changeInputs(rig, { id: message!.id }, { id: idAt(Date.now() - 119 * 60_000) });
  expect(await retryTurn(rig.database, message!.turnId!)).toMatchObject({ kind: 'ok' });
  const worker = rig.worker();
  await worker.run('retried');
  worker.stop();
  expect((await transcripts('retried')).resets).toEqual([]);
});
