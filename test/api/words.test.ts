// The words of things for people, in every list that has them: what a session, a turn, a message, a
// delivery, a dead letter, a hit and an entry are called, and what is said of what failed.
import { expect, test } from 'vitest';
import { runAndLose } from '../turn/lose-worker.ts';
import { cronMark } from '../../src/core/words.ts';
import { newId } from '../../src/ids.ts';
import { addDeadLetters } from '../rows/dead-letters.ts';
import { addDeliveries } from '../rows/deliveries.ts';
import { addInputs } from '../rows/inputs.ts';
import { addSessions } from '../rows/sessions.ts';
import { addTurns } from '../rows/turns.ts';
import { now } from '../rows/table.ts';
import { spawnBelow } from './spawn-below.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();
const first = async (path: string) => (await holder.rig.get(path)).body.items[0];
const ADA = { channel: 'telegram', messageId: '7', sender: { id: '7', name: 'Ada' } };

test('a message of a person has the same words wherever it is shown', async () => {
  const { rig } = holder;
  const said = 'Where is [[tool: echo {"command": "look up 42"}]] [[reply: Here.]]';
  const { id, turnId } = await rig.settle('ada', said, ADA);
  const names = { title: said, sessionTitle: 'Ada · telegram' };
  expect(await first('/v1/turns?session=ada&steps=none')).toMatchObject(names);
  expect((await rig.get(`/v1/turns/${turnId}`)).body).toMatchObject({ ...names, workerTitle: expect.any(String) });
  expect((await rig.get(`/v1/messages/${id}`)).body).toMatchObject(names);
  expect(await first('/v1/sessions?q=ada')).toMatchObject({ title: 'Ada · telegram', failure: null });
  const { items } = (await rig.get('/v1/sessions/ada/transcript?partChars=10')).body;
  type Entry = { author: object; words: string | null; calls: { words: string | null; state: string }[] };
  const shown = items.map(({ author, words, calls }: Entry) => [author, words, calls.map((call) => call.words)]);
  expect(shown).toEqual([
    [{ kind: 'person', name: 'Ada' }, said, []],
    [{ kind: 'agent', name: 'Agent' }, null, ['look up 42']],
    // The tool says what it was given, as JSON.
    [{ kind: 'tools', name: 'Tools' }, null, ['{"command":"look up 42"}']],
    [{ kind: 'agent', name: 'Agent' }, 'Here.', []],
  ]);
});

test('a session of a cron, its turn, its delivery and its dead letter have the name of the cron', async () => {
  const { rig } = holder;
  const [sessionId, turnId, deliveryId] = [newId<string>(), newId<string>(), newId<string>()];
  const key = `agent:main:cron:${newId<string>()}`;
  await addSessions(rig, { id: sessionId, key, kind: 'cron', inboxSeq: 1 });
  await addTurns(rig, { id: turnId, sessionId, kind: 'cron', status: 'failed', endedAt: now });
  const text = `${cronMark({ id: 'c-1', name: 'Morning report' })}Write it.`;
  await addInputs(rig, { sessionId, turnId, seq: 1, kind: 'cron', status: 'failed', body: { text }, settledAt: now });
  await addDeliveries(rig, {
    id: deliveryId,
    sessionId,
    turnId,
    payload: { type: 'failure', text: 'Not\nthis time.' },
  });
  await addDeadLetters(
    rig,
    { kind: 'turn', sessionId, turnId, code: 'of_cron' },
    { kind: 'delivery', sessionId, deliveryId, code: 'of_delivery' },
  );
  const sessionTitle = 'Morning report';
  expect(await first(`/v1/turns?session=${key}&steps=none`)).toMatchObject({ title: sessionTitle, sessionTitle });
  expect((await rig.get(`/v1/sessions/${key}`)).body.title).toBe(sessionTitle);
  expect(await first(`/v1/messages?session=${key}`)).toMatchObject({ title: sessionTitle, sessionTitle });
  expect(await first(`/v1/deliveries?session=${key}`)).toMatchObject({ title: 'Not this time.', sessionTitle });
  expect((await first('/v1/dead-letters?code=of_cron')).letters).toMatchObject([{ title: sessionTitle, sessionTitle }]);
  expect((await first('/v1/dead-letters?code=of_delivery')).letters).toMatchObject([
    { title: 'Not this time.', sessionTitle },
  ]);
});

test('the end of a subagent is said by the subagent, and called by what ended', async () => {
  const { rig } = holder;
  await rig.settle('parent', '[[reply: ok]]');
  const child = await spawnBelow(rig, 'agent:main:parent', {
    label: 'research',
    task: 'Find it [[reply: Two sources agree.]]',
  });
  expect((await rig.get(`/v1/sessions/${child.key}`)).body.title).toBe('research');
  await rig.work(child.key);
  await rig.work('parent');
  const title = 'Subagent “research” completed: Two sources agree.';
  expect(await first('/v1/turns?session=parent&steps=none')).toMatchObject({
    kind: 'announce',
    title,
    firstWords: title,
  });
  expect(await first('/v1/messages?session=parent')).toMatchObject({ kind: 'announcement', title });
  const { items } = (await rig.get('/v1/sessions/parent/transcript')).body;
  const announced = items.findLast(({ kind }: { kind: string }) => kind === 'prompt');
  expect(announced).toMatchObject({ author: { kind: 'subagent', name: 'Subagent “research”' }, words: title });
});

test('a session whose newest turn failed says how, and since when', async () => {
  const { rig } = holder;
  const { turnId } = await rig.settle('broken', '[[error: 400 message="no"]]');
  const { body } = await rig.get('/v1/sessions/broken');
  const turn = (await rig.get(`/v1/turns/${turnId}`)).body;
  const failure = { turnId, code: turn.error.code, text: turn.error.message, since: turn.endedAt };
  expect(body).toMatchObject({ status: 'idle', failure: { ...failure, nextStep: turn.nextStep } });
  await rig.settle('broken', '[[reply: ok]]');
  expect((await rig.get('/v1/sessions/broken')).body.failure).toBeNull();
});

test('a call whose worker is lost waits to be resumed, and says since when', async () => {
  const { rig } = holder;
  await rig.post('/v1/sessions/lost/messages', { text: '[[tool: echo {}]] [[reply: ok]]' });
  // The claim, the turn and its first step are committed.
  expect(await runAndLose(rig.turns, 'lost', 3, true)).toBe(true);
  const callsOf = async () =>
    (await rig.get('/v1/sessions/lost/transcript')).body.items.flatMap(({ calls }: { calls: object[] }) => calls);
  const { why } = await first('/v1/turns?session=lost');
  expect(await callsOf()).toMatchObject([{ state: 'interrupted', why: { code: why.code, since: why.since } }]);
  await rig.work('lost');
  expect(await callsOf()).toMatchObject([{ state: 'done', why: null }, { state: 'done' }]);
});
