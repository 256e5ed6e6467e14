// Goal: an export has all stored rows of a conversation, in bounded pages. Method: a session with
// tools, a reset and a subagent, and rows of a size that takes several pages.
import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { exportPages, findExportedSession } from '../../src/kernel/views/session-export.ts';
import { addEntries } from '../rows/entries.ts';
import { addInputs } from '../rows/inputs.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

interface Line {
  type: string;
  [field: string]: unknown;
}

async function exportOf(session: string): Promise<Line[]> {
  const answer = await holder.rig.get(`/v1/sessions/${session}/export`);
  expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' } });
  return String(answer.body)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

const ofType = (lines: Line[], type: string): Line[] => lines.filter((line) => line.type === type);

test('an export has the session, all transcripts, messages, turns with their calls, and a last line that counts them', async () => {
  const { rig } = holder;
  await rig.settle('whole', 'one [[tool: echo {"say": "hi"}]] [[reply: first]]');
  await rig.post('/v1/sessions/whole/reset');
  await rig.post('/v1/sessions/whole/system-events', { text: 'it rains' });
  await rig.settle('whole', 'two [[reply: second]]');
  await rig.post('/v1/sessions/whole/spawn', { task: 'count', label: 'helper' });
  const lines = await exportOf('whole');
  expect(lines[0]).toMatchObject({ type: 'session', key: 'agent:main:whole' });
  expect(ofType(lines, 'transcript')).toMatchObject([{ transcriptNo: 1 }]);
  expect(ofType(lines, 'entry').map(({ transcriptNo, kind }) => [transcriptNo, kind])).toEqual([
    [1, 'prompt'],
    [1, 'answer'],
    [1, 'results'],
    [1, 'answer'],
    [2, 'prompt'],
    [2, 'answer'],
  ]);
  expect(JSON.stringify(ofType(lines, 'entry'))).toContain('it rains');
  expect(ofType(lines, 'message')).toMatchObject([
    { body: { text: expect.stringContaining('one') }, status: 'answered' },
    { body: { text: expect.stringContaining('two') }, status: 'answered' },
  ]);
  const turns = ofType(lines, 'turn');
  expect(turns).toMatchObject([{ reply: 'first' }, { reply: 'second' }]);
  expect(ofType(lines, 'model-call').map(({ turnId }) => turnId)).toEqual([
    turns[0]?.['id'],
    turns[0]?.['id'],
    turns[1]?.['id'],
  ]);
  expect(ofType(lines, 'tool-call')).toMatchObject([{ turnId: turns[0]?.['id'], name: 'echo', status: 'done' }]);
  expect(ofType(lines, 'system-event')).toMatchObject([{ text: 'it rains', state: 'consumed' }]);
  expect(ofType(lines, 'subagent')).toMatchObject([{ task: 'count', label: 'helper' }]);
  expect(lines.at(-1)).toEqual({ type: 'end', lines: lines.length - 1 });
});

test('an export reads pages of at most 200 records, and of 4 MB or one record', async () => {
  const { rig } = holder;
  const sessionId = (await rig.post('/v1/sessions/long/messages', { text: 'x' })).body.session.id;
  const answered = { sessionId, status: 'answered' };
  await addInputs(rig, ...Array.from({ length: 449 }, (_, n) => ({ ...answered, seq: n + 2 })));
  const content = [{ type: 'text', text: 'x'.repeat(3_000_000) }];
  const prompt = { sessionId, kind: 'prompt', role: 'user', content, turnId: newId<string>() };
  await addEntries(rig, { ...prompt, seq: 1 }, { ...prompt, seq: 2 }, { ...prompt, seq: 3 });
  const session = await findExportedSession(rig.context.views, 'agent:main:long');
  const sizes: Record<string, number[]> = {};
  // The session was just made.
  for await (const page of exportPages(rig.context.views, session!)) {
    (sizes[page[0]?.type ?? ''] ??= []).push(page.length);
  }
  expect(sizes).toEqual({ session: [1], entry: [2, 1], message: [200, 200, 50] });
});

test('a session that does not exist is 404', async () => {
  expect((await holder.rig.get('/v1/sessions/nothing/export')).status).toBe(404);
});
