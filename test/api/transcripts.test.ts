// A session's transcript as a whole, over the API: compacted, restored, ended by a reset, copied by
// a fork.
import { expect, test } from 'vitest';
import { changeEntries } from '../rows/entries.ts';
import { readEvents } from '../rows/events.ts';
import { seedHistory } from '../turn/seed-history.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

interface Entry {
  id: string;
  seq: number;
  kind: string;
  state: string;
  content: { type: string; text?: string }[];
}

interface Part {
  name: string;
  start: number;
  end: number;
}

async function entriesOf(session: string, query = ''): Promise<Entry[]> {
  const { body } = await holder.rig.get(`/v1/sessions/${session}/transcript?limit=200${query}`);
  return body.items as Entry[];
}

function textsOf(entries: Entry[]): string[] {
  return entries.map(({ content }) => content.map(({ text = '' }) => text).join('\n'));
}

/** Sends a message and has it answered. */
const say = (session: string, text: string) => holder.rig.settle(session, text);

/** A session with 8,000 tokens of history that was compacted. */
async function condensed(session: string) {
  await seedHistory(holder.rig.turns, session, { turns: 10, tokens: 8_000 });
  const asked = await holder.rig.post(`/v1/sessions/${session}/compact`, {});
  expect(asked.status).toBe(202);
  await holder.rig.work(session);
  const { body } = await holder.rig.get(`/v1/sessions/${session}/compactions`);
  return body.items[0];
}

test('a requested compaction answers with its result', async () => {
  await seedHistory(holder.rig.turns, 'waited', { turns: 10, tokens: 8_000 });
  const answer = holder.rig.post(
    '/v1/sessions/waited/compact',
    { instructions: 'Keep the names.' },
    { prefer: 'wait=20' },
  );
  await expect.poll(async () => (await holder.rig.work('waited')).kind).toBe('ended');
  const { status, body } = await answer;
  expect(status).toBe(200);
  expect(body.message).toMatchObject({ kind: 'compaction', status: 'answered', text: 'Keep the names.' });
  expect(body.turn).toMatchObject({ kind: 'compaction', status: 'completed' });
  expect(body.compaction).toMatchObject({ status: 'completed', reason: 'manual', isRestorable: true });
  expect(body.compaction.tokensAfter).toBeLessThan(body.compaction.tokensBefore);
});

test('the same Idempotency-Key requests one compaction', async () => {
  await seedHistory(holder.rig.turns, 'keyed', { turns: 10, tokens: 8_000 });
  const ask = () => holder.rig.post('/v1/sessions/keyed/compact', {}, { 'idempotency-key': 'one' });
  const [first, second] = [await ask(), await ask()];
  expect(second.body.message.id).toBe(first.body.message.id);
  expect(second.headers['idempotent-replayed']).toBe('true');
  const other = await holder.rig.post(
    '/v1/sessions/keyed/compact',
    { instructions: 'x' },
    { 'idempotency-key': 'one' },
  );
  expect(other.status).toBe(422);
});

test('a session without messages cannot be compacted, reset, copied or listed', async () => {
  for (const path of ['compact', 'reset', 'fork']) {
    const body = path === 'fork' ? { key: 'copy' } : {};
    expect((await holder.rig.post(`/v1/sessions/nobody/${path}`, body)).status, path).toBe(404);
  }
  expect((await holder.rig.get('/v1/sessions/nobody/compactions')).status).toBe(404);
});

test('the rows that a summary replaces stay, and are restored when it is undone (G15)', async () => {
  const compaction = await condensed('undone');
  const all = await entriesOf('undone', '&state=all');
  expect(all).toHaveLength(21);
  expect(all.filter(({ state }) => state === 'compacted')).toHaveLength(compaction.retiredEntries);
  await say('undone', 'After it.');
  const { status, body } = await holder.rig.post(`/v1/sessions/undone/compactions/${compaction.id}/restore`);
  expect(status).toBe(200);
  expect(body.compaction).toMatchObject({ status: 'restored', isRestorable: false });
  const active = await entriesOf('undone');
  expect(active).toHaveLength(22);
  expect(active.some(({ kind }) => kind === 'summary')).toBe(false);
  await say('undone', 'And now?');
  const request = holder.rig.turns.scripted.requests.at(-1)!.body as { messages: unknown[] };
  expect(request.messages).toHaveLength(23);
  const again = await holder.rig.post(`/v1/sessions/undone/compactions/${compaction.id}/restore`);
  expect(again.status).toBe(200);
});

test('a request from before and one from after a compaction that was undone are derived as they were sent', async () => {
  const compaction = await condensed('derived');
  await say('derived', 'With the summary.');
  await holder.rig.post(`/v1/sessions/derived/compactions/${compaction.id}/restore`);
  await say('derived', 'Without it.');
  const { body } = await holder.rig.get('/v1/turns?session=derived');
  const turns = body.items as { id: string; steps: { calls: { n: number }[] }[] }[];
  expect(turns).toHaveLength(3);
  for (const turn of turns) {
    for (const { n } of turn.steps.flatMap(({ calls }) => calls)) {
      const derived = await holder.rig.get(`/v1/turns/${turn.id}/requests/${n}`);
      expect(derived.body).toMatchObject({ matches: true });
    }
  }
});

test('an earlier compaction is undone together with later ones that build on it', async () => {
  const first = await condensed('twice');
  for (let n = 1; n <= 4; n += 1) await say('twice', `${n} [[fill: 4000]]`);
  await holder.rig.post('/v1/sessions/twice/compact', {});
  await holder.rig.work('twice');
  const { body } = await holder.rig.get('/v1/sessions/twice/compactions');
  expect(body.items.map(({ status }: { status: string }) => status)).toEqual(['completed', 'completed']);
  const active = await entriesOf('twice');
  expect(active.filter(({ kind }) => kind === 'summary')).toHaveLength(1);
  expect((await holder.rig.post(`/v1/sessions/twice/compactions/${first.id}/restore`)).status).toBe(200);
  const restored = await entriesOf('twice');
  expect(restored.map(({ kind }) => kind)).not.toContain('summary');
  expect(restored).toHaveLength(28);
});

test('a compaction of another session does not exist', async () => {
  const compaction = await condensed('mine');
  await say('yours', 'Hello.');
  const { status } = await holder.rig.post(`/v1/sessions/yours/compactions/${compaction.id}/restore`);
  expect(status).toBe(404);
});

test('a reset begins a new transcript under the same key, and the old one is kept and linked', async () => {
  await say('reset', 'Before.');
  const { status, body } = await holder.rig.post('/v1/sessions/reset/reset', {});
  expect(status).toBe(200);
  expect(body).toMatchObject({ transcriptNo: 2, previousTranscriptNo: 1, session: { key: 'agent:main:reset' } });
  expect(await entriesOf('reset')).toEqual([]);
  expect(textsOf(await entriesOf('reset', '&transcript=1'))[0]).toContain('Before.');
  await say('reset', 'After.');
  const request = holder.rig.turns.scripted.requests.at(-1)!.body as { messages: unknown[] };
  expect(request.messages).toHaveLength(1);
  const list = await holder.rig.get('/v1/sessions/reset/transcripts');
  expect(list.body.items).toMatchObject([
    { transcriptNo: 2, isCurrent: true, entries: 2 },
    { transcriptNo: 1, isCurrent: false, entries: 2 },
  ]);
  const [event] = await readEvents(holder.rig, { type: 'session.reset' }, 'data');
  expect(event!['data']).toEqual({ transcriptNo: 2, previousTranscriptNo: 1, reason: 'api' });
});

test('messages that wait when a session is reset belong to the new transcript (G1)', async () => {
  await say('waiting', 'Before.');
  await holder.rig.post('/v1/sessions/waiting/messages', { text: 'Waits.' });
  await holder.rig.post('/v1/sessions/waiting/reset', {});
  await holder.rig.work('waiting');
  const texts = textsOf(await entriesOf('waiting'));
  expect(texts.join()).toContain('Waits.');
  expect(texts.join()).not.toContain('Before.');
});

test('a session with a running turn is not reset, unless the request stops the turn', async () => {
  await holder.rig.post('/v1/sessions/busy/messages', { text: '[[delay: 600000]] [[reply: Late.]]' });
  const working = holder.rig.work('busy');
  await expect.poll(async () => (await holder.rig.get('/v1/sessions/busy')).body.status).toBe('running');
  expect((await holder.rig.post('/v1/sessions/busy/reset', {})).status).toBe(409);
  const stopped = await holder.rig.post('/v1/sessions/busy/reset', { abort: true });
  expect(stopped.status).toBe(200);
  await working;
  expect(await entriesOf('busy')).toEqual([]);
  await say('busy', 'Next. [[reply: Here.]]');
  expect(textsOf(await entriesOf('busy')).at(-1)).toBe('Here.');
});

test('a worker that had claimed a session before its reset opens no turn on the old transcript (G7)', async () => {
  await say('raced', 'Before.');
  await holder.rig.post('/v1/sessions/raced/messages', { text: 'Waits.' });
  const worker = holder.rig.turns.worker();
  const { openTurn } = worker.context.store;
  worker.context.store.openTurn = async (turn) => {
    await holder.rig.post('/v1/sessions/raced/reset', {});
    return openTurn(turn);
  };
  expect(await worker.run('raced')).toEqual({ kind: 'lost' });
  worker.stop();
  expect(await entriesOf('raced')).toEqual([]);
  expect(holder.rig.rings.length).toBeGreaterThan(0);
  await holder.rig.work('raced');
  expect(textsOf(await entriesOf('raced')).join()).toContain('Waits.');
});

test('a fork is a copy of the active path, and the two change independently', async () => {
  await condensed('source');
  const { status, body, headers } = await holder.rig.post('/v1/sessions/source/fork', { key: 'copy-1' });
  expect(status).toBe(201);
  expect(headers['location']).toBe('/v1/sessions/agent:main:copy-1');
  const source = await entriesOf('source');
  const copy = await entriesOf('copy-1');
  expect(body.entries).toBe(source.length);
  const summaryFirst = source.toSorted((a, b) => Number(b.kind === 'summary') - Number(a.kind === 'summary'));
  expect(textsOf(copy)).toEqual(textsOf(summaryFirst));
  expect(copy.map(({ seq }) => seq)).toEqual(copy.map((_, index) => index + 1));
  await say('copy-1', 'Only here.');
  expect(textsOf(await entriesOf('source')).join()).not.toContain('Only here.');
  const request = holder.rig.turns.scripted.requests.at(-1)!.body as { messages: { content: unknown[] }[] };
  expect(JSON.stringify(request.messages[0])).toContain('[Conversation summary]');
});

test('a fork ends with the named entry, and includes the results of its calls (G12)', async () => {
  await say('steps', 'Look. [[tool: echo {"n": 1}]] [[reply: Seen.]]');
  const [, call] = await entriesOf('steps');
  const { status, body } = await holder.rig.post('/v1/sessions/steps/fork', { key: 'steps-copy', entryId: call!.id });
  expect([status, body.entries]).toEqual([201, 3]);
  expect((await entriesOf('steps-copy')).map(({ kind }) => kind)).toEqual(['prompt', 'answer', 'results']);
});

test('a fork needs a free key, an entry of the path and an agent that exists', async () => {
  await say('original', 'Hello.');
  await say('taken', 'Hello.');
  const [entry] = await entriesOf('taken');
  const fork = async (body: object) => (await holder.rig.post('/v1/sessions/original/fork', body)).status;
  expect(await fork({ key: 'taken' })).toBe(409);
  expect(await fork({ key: 'free', entryId: entry!.id })).toBe(404);
  expect(await fork({ key: 'agent:nobody:free' })).toBe(404);
  expect(await fork({})).toBe(400);
});

test('a prompt names the parts that its text was put together from; an answer and a prompt without stored parts have none', async () => {
  const { rig } = holder;
  await rig.post('/v1/sessions/parted/system-events', { text: 'the door is open' });
  await say('parted', 'hello');
  const url = '/v1/sessions/parted/transcript';
  const [prompt, answer] = (await rig.get(url)).body.items;
  const [{ text }] = prompt.content;
  expect(prompt.parts.map(({ name, start, end }: Part) => [name, text.slice(start, end)])).toEqual([
    ['system-event', expect.stringMatching(/^System: .* the door is open$/)],
    ['body', 'hello'],
  ]);
  expect(answer.parts).toBeNull();
  const cut = (await rig.get(`${url}?partChars=4`)).body.items[0];
  expect(cut.parts).toEqual(prompt.parts);
  await changeEntries(rig, { id: prompt.id }, { parts: null });
  expect((await rig.get(url)).body.items[0].parts).toBeNull();
});
