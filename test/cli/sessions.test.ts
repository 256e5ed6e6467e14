// The actions of `holdfast sessions`, against a real API with real turns: compact, reset, fork,
// stop.
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { changeSessions } from '../rows/sessions.ts';
import { seedHistory } from '../turn/seed-history.ts';
import { useCliRig } from './use-cli-rig.ts';

const { holder, runWith } = useCliRig();
const run = (...args: string[]) => runWith(['sessions', ...args]);
const say = (session: string, text: string) => holder.rig.settle(session, text);

test('export writes every record to a private file, or to stdout', async () => {
  await say('exported', 'a line [[reply: b]]');
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-export-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const out = join(folder, 'exported.ndjson');
  expect(await run('export', 'exported', '--out', out)).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^written to .*: \d+ records\n$/),
  });
  const written = await readFile(out, 'utf8');
  expect(written).toMatch(/^\{"type":"session",.*"key":"agent:main:exported"/);
  expect((await stat(out)).mode & 0o777).toBe(0o600);
  expect((await run('export', 'exported')).stdout).toBe(written);
  expect(await run('export', 'nobody')).toMatchObject({ code: 5 });
  expect(await run('export', 'exported', '--out', '/dev/full')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('cannot write /dev/full: the disk is full'),
  });
});

test('compact runs when the session is idle, and with --wait prints the result', async () => {
  const { rig } = holder;
  await seedHistory(rig.turns, 'long', { turns: 10, tokens: 8_000 });
  const asked = await run('compact', 'long', '--instructions', 'Keep the names.', '--idempotency-key', 'once');
  expect(asked).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/), stderr: '' });
  expect((await rig.get(`/v1/messages/${asked.stdout.trim()}`)).body).toMatchObject({ text: 'Keep the names.' });
  expect(await run('compact', 'long', '--instructions', 'Keep the names.', '--wait', '1')).toMatchObject({ code: 124 });
  await rig.work('long');
  const waited = await run(
    'compact',
    'long',
    '--instructions',
    'Keep the names.',
    '--idempotency-key',
    'once',
    '--wait',
  );
  expect(waited).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Compacted: about \d+ tokens became \d+\.\n$/),
  });
  const json = await run(
    'compact',
    'long',
    '--instructions',
    'Keep the names.',
    '--idempotency-key',
    'once',
    '--wait',
    '--json',
  );
  expect(JSON.parse(json.stdout)).toMatchObject({
    message: { kind: 'compaction', status: 'answered' },
    turn: { kind: 'compaction', status: 'completed' },
    compaction: { status: 'completed', reason: 'manual' },
  });
  expect(await run('compact', 'nobody')).toMatchObject({ code: 5 });
});

test('reset begins a new transcript and keeps the old one; while a turn runs it is a conflict (G15)', async () => {
  const { rig } = holder;
  await say('past', 'Remember the blue door.');
  expect(await run('reset', 'past')).toMatchObject({ code: 0, stdout: 'transcript 2 begins; transcript 1 is kept\n' });
  expect((await rig.get('/v1/sessions/past/transcript')).body.items).toEqual([]);
  expect(JSON.parse((await run('reset', 'past', '--json')).stdout)).toMatchObject({ transcriptNo: 3 });
  await changeSessions(rig, { key: 'agent:main:past' }, { turnId: newId<string>() });
  const refused = await run('reset', 'past');
  expect(refused).toMatchObject({ code: 6, stdout: '' });
  expect(refused.stderr).toContain('A turn of the session is running');
  await changeSessions(rig, { key: 'agent:main:past' }, { turnId: null });
});

test('fork copies a session, whole or up to an entry, and never over another one', async () => {
  const { rig } = holder;
  await say('tree', 'One. [[reply: Two.]]');
  await say('tree', 'Three. [[reply: Four.]]');
  const entries = (await rig.get('/v1/sessions/tree/transcript')).body.items;
  const whole = await run('fork', 'tree', 'tree-2');
  expect(whole).toMatchObject({ code: 0, stdout: 'agent:main:tree-2\n', stderr: 'a copy with 4 entries\n' });
  expect(JSON.parse((await run('fork', 'tree', 'tree-3', '--until', entries[1].id, '--json')).stdout)).toMatchObject({
    session: { key: 'agent:main:tree-3' },
    entries: 2,
  });
  expect(await run('fork', 'tree', 'tree-2')).toMatchObject({ code: 6, stdout: '' });
  expect(await run('fork', 'nobody', 'tree-4')).toMatchObject({ code: 5 });
  expect(await run('fork', 'tree', 'with blank')).toMatchObject({ code: 2 });
  expect(await run('fork', 'tree')).toMatchObject({ code: 2 });
});

test('stop is abort: waiting messages are cancelled (G24)', async () => {
  const { rig } = holder;
  const { body } = await rig.post('/v1/sessions/queue/messages', { text: 'Wait for it.' });
  expect(await run('stop', 'queue')).toMatchObject({ code: 0, stdout: 'no turn was running; 1 cancelled\n' });
  expect((await rig.get(`/v1/messages/${body.message.id}`)).body.status).toBe('cancelled');
  expect(JSON.parse((await run('stop', 'queue', '--json')).stdout)).toEqual({ aborted: null, cancelled: 0 });
  expect(await run('stop', 'nobody')).toMatchObject({ code: 5 });
});
