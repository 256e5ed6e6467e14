// Goal: an erasure leaves nothing of a session anywhere in the database or in its files, whatever
// it interrupts. Method: a session whose every text has a word of its own, which is then looked for
// in every column of every table and in the data directory.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { fenceSessions } from '../../../src/features/erasure/store/erase-sessions.ts';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import { addDeadLetters } from '../../rows/dead-letters.ts';
import { addCompactions } from '../../rows/entries.ts';
import { addInputs, changeInputs } from '../../rows/inputs.ts';
import { addProcessInputs, addProcesses } from '../../rows/processes.ts';
import { addProviderRequests } from '../../rows/provider-batches.ts';
import { readSessions } from '../../rows/sessions.ts';
import { having, now } from '../../rows/table.ts';
import { countTurns } from '../../rows/turns.ts';
import { tablesWith as findWord } from '../../api/tables-with.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const SOON_MS = 240_000;

const holder = useApiRig();

const tablesWith = (text: string): Promise<Record<string, number>> => findWord(holder.rig.rows, text);

/** A session with something in every table that a conversation reaches. */
async function makeSession(name: string, word: string): Promise<string> {
  const { rig } = holder;
  const path = `/v1/sessions/${name}`;
  const headers = { 'idempotency-key': `key-of-${name}` };
  const sent = await rig.post(
    `${path}/messages`,
    { text: `${word} [[tool: echo {"say": "${word}"}]] [[reply: ${word}]]`, messageId: word },
    headers,
  );
  await rig.work(name);
  await rig.post(`${path}/reset`);
  await rig.post(`${path}/system-events`, { text: `${word} rains` }, headers);
  await rig.post(`${path}/messages`, {
    text: `[[reply: ${word}]]`,
    groupSystemPrompt: `Be ${word}.`,
    deliver: { url: 'https://example.com/x' },
  });
  await rig.work(name);
  await rig.post(`${path}/messages`, { text: `/think high ${word}` });
  const spawned = await rig.post(`${path}/spawn`, { task: `${word} [[reply: ${word}]]`, label: word });
  await rig.work(spawned.body.childSessionKey);
  await rig.work(name);
  await rig.post('/v1/crons', {
    name: word,
    schedule: { kind: 'every', everyMs: 3_600_000 },
    target: `session:${name}`,
    payload: { kind: 'systemEvent', text: word },
  });
  const sessionId = sent.body.session.id as string;
  const turnId = (await rig.get(`/v1/turns?session=${name}`)).body.items[0].id as string;
  const processId = newId<string>();
  await addProcesses(rig, {
    id: processId,
    sessionId,
    turnId,
    causeKey: `${turnId}:c`,
    command: word,
    workdir: '/',
    status: 'exited',
    worker: 'w',
    leaseExpiresAt: now,
    machine: 'm',
    outputTail: word,
  });
  await addProcessInputs(rig, { processId, causeKey: `${turnId}:i`, data: word, isLast: true });
  await addDeadLetters(rig, { sessionId, turnId, code: 'c', reason: word });
  const request = { turnId, callNo: 9, sessionId, model: 'm', status: 'dropped', paramsBytes: 1, paramsSha256: 'x' };
  await addProviderRequests(rig, { ...request, error: { message: word }, leaveAt: now });
  await addCompactions(rig, {
    sessionId,
    transcriptNo: 1,
    turnId,
    reason: 'manual',
    status: 'completed',
    attempt: 1,
    summary: word,
    tokensBefore: 1,
  });
  const folder = join(rig.config.runtime.dataDir, 'processes', processId);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, '0'), word);
  return sessionId;
}

async function filesWith(word: string): Promise<string[]> {
  const { dataDir } = holder.rig.config.runtime;
  const all = await readdir(join(dataDir, 'processes'), { recursive: true, withFileTypes: true });
  const files = all.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found = await Promise.all(
    files.map(async (file) => ((await readFile(file, 'utf8')).includes(word) ? [file] : [])),
  );
  return found.flat();
}

test('an erasure leaves no row and no file of a session, its subagents and its crons, and keeps those of others', async () => {
  const { rig } = holder;
  await makeSession('kept', 'pelican');
  await makeSession('gone', 'flamingo');
  const keptBefore = await tablesWith('pelican');
  const planned = await rig.ask('DELETE', '/v1/sessions/gone?dryRun=true');
  expect(planned.body).toMatchObject({ files: 1, removed: { sessions: 2, deliveries: 1 } });
  expect(await filesWith('flamingo')).toHaveLength(1);
  expect(Object.keys(await tablesWith('flamingo')).toSorted()).toEqual([
    'compactions',
    'crons',
    'dead_letters',
    'deliveries',
    'entries',
    'events',
    'idempotency_keys',
    'inbox',
    'process_inputs',
    'processes',
    'provider_requests',
    'sessions',
    'snapshots',
    'subagent_runs',
    'system_events',
    'turns',
  ]);
  const answer = await rig.ask('DELETE', '/v1/sessions/gone?reason=asked%20for');
  expect(answer).toMatchObject({ status: 200, body: { key: 'agent:main:gone', files: 1 } });
  expect(answer.body.removed).toMatchObject({
    sessions: 2,
    subagent_runs: 1,
    crons: 1,
    processes: 1,
    ended_transcripts: 1,
  });
  expect(await tablesWith('flamingo')).toEqual({});
  expect(await tablesWith('agent:main:gone')).toEqual({});
  expect(await filesWith('flamingo')).toEqual([]);
  expect(await tablesWith('pelican')).toEqual(keptBefore);
  expect((await rig.get('/v1/sessions/gone')).status).toBe(404);
  const audit = (await rig.get('/v1/audit?limit=1')).body.items[0];
  expect(audit).toMatchObject({
    action: 'eraseSession',
    target: '/v1/sessions/gone',
    reason: 'asked for',
    outcome: 'ok',
  });
  expect((await rig.ask('DELETE', '/v1/sessions/gone')).body).toEqual({
    key: 'agent:main:gone',
    removed: {},
    files: 0,
  });
});

test('an erasure stops the running turn, and what is sent afterwards begins a new session', async () => {
  const { rig } = holder;
  const sent = await rig.post('/v1/sessions/busy/messages', { text: 'heron [[stall: after=0]]' });
  const working = rig.work('busy');
  await waitUntil('the turn runs', SOON_MS, async () => {
    return (await countTurns(rig, { sessionId: sent.body.session.id })) > 0;
  });
  await rig.post('/v1/sessions/busy/messages', { text: 'heron waits' });
  const erased = await rig.ask('DELETE', '/v1/sessions/busy');
  await working;
  expect(erased).toMatchObject({ status: 200, body: { removed: { sessions: 1, turns: 1, inbox: 2 } } });
  expect(await tablesWith('heron')).toEqual({});
  const again = await rig.post('/v1/sessions/busy/messages', { text: 'once more' });
  expect(again).toMatchObject({ status: 202, body: { message: { seq: 1, status: 'waiting' } } });
  expect(again.body.session.id).not.toBe(sent.body.session.id);
});

test('an erasure that was broken off is completed by the same call, and a newer session of its key goes with it', async () => {
  const { rig } = holder;
  const sent = await rig.post('/v1/sessions/broken/messages', { text: 'bittern' });
  await fenceSessions(rig.context.service.database, [sent.body.session.id]);
  rig.context.service.inbox.ensureSession.drop('agent:main:broken');
  await rig.post('/v1/sessions/broken/messages', { text: 'bittern, too' });
  const erased = await rig.ask('DELETE', '/v1/sessions/broken');
  expect(erased).toMatchObject({ status: 200, body: { removed: { sessions: 2, inbox: 2 } } });
  expect(await tablesWith('bittern')).toEqual({});
});

test('a person is found among more messages than one statement reads', async () => {
  const { rig } = holder;
  await rig.post('/v1/sessions/first-of-many/messages', { text: 'x', sender: { id: 'eve' } });
  await rig.post('/v1/sessions/shared-of-many/messages', { text: 'x', sender: { id: 'eve' } });
  const [shared] = await readSessions(rig, { key: 'agent:main:shared-of-many' }, 'id');
  const answered = { sessionId: shared!.id, status: 'answered', body: { sender: { id: 'eve' } } };
  await addInputs(rig, ...Array.from({ length: 4500 }, (_, n) => ({ ...answered, seq: 11 + n })));
  await rig.post('/v1/sessions/shared-of-many/messages', { text: 'x', sender: { id: 'ben' } });
  await changeInputs(
    rig,
    { sessionKey: 'agent:main:first-of-many' },
    { id: 'ffffffff-ffff-7fff-8fff-ffffffffffff', seq: 9999 },
  );
  await changeInputs(rig, { sessionId: shared!.id, body: having({ sender: { id: 'ben' } }) }, { seq: 9999 });
  expect((await rig.ask('DELETE', '/v1/subjects/eve?dryRun=true')).body).toMatchObject({
    sessions: [{ key: 'agent:main:first-of-many' }],
    shared: ['agent:main:shared-of-many'],
  });
});

test('the sessions of a person are erased if only they have written there; others with shared=erase', async () => {
  const { rig } = holder;
  const say = (session: string, id: string, text: string) =>
    rig.post(`/v1/sessions/${session}/messages`, { text, sender: { id } });
  await say('ada-alone', 'ada', 'stork');
  await say('together', 'ada', 'stork');
  await say('together', 'ben', 'ibis');
  await say('ben-alone', 'ben', 'ibis');
  const dry = await rig.ask('DELETE', '/v1/subjects/ada?dryRun=true');
  expect(dry.body).toMatchObject({ sessions: [{ key: 'agent:main:ada-alone' }], shared: ['agent:main:together'] });
  expect((await rig.ask('DELETE', '/v1/subjects/ada?channel=telegram')).body).toMatchObject({
    sessions: [],
    shared: [],
  });
  const erased = await rig.ask('DELETE', '/v1/subjects/ada');
  expect(erased.body).toMatchObject({
    senderId: 'ada',
    sessions: [{ key: 'agent:main:ada-alone', removed: { sessions: 1 } }],
    shared: ['agent:main:together'],
  });
  expect((await rig.get('/v1/sessions/ada-alone')).status).toBe(404);
  const refused = await rig.ask('DELETE', '/v1/subjects/a%00b');
  expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'senderId' }] } });
  await rig.ask('DELETE', '/v1/subjects/ada?shared=erase');
  expect(await tablesWith('stork')).toEqual({});
  expect(Object.keys(await tablesWith('ibis'))).toContain('inbox');
});

test('an erasure of a person leaves their id and the keys of their sessions in no table but the audit log', async () => {
  const { rig } = holder;
  const key = 'agent:main:telegram:direct:wagtail';
  const sent = await rig.post(`/v1/sessions/${key}/messages`, {
    text: 'hello',
    sender: { id: 'wagtail', name: 'Wagtail' },
    tags: { customer: 'wagtail' },
  });
  expect(sent.status).toBe(202);
  await rig.work('telegram:direct:wagtail');
  const made = [
    await rig.post('/v1/budgets', { scope: `session:${key}`, per: 'day', limitUsd: 5 }),
    await rig.post('/v1/budgets', { scope: 'session:*:direct:wagtail', per: 'day', limitUsd: 5 }),
    await rig.post('/v1/budgets', { scope: 'session:*:direct:grey-wagtail', per: 'day', limitUsd: 5 }),
    ...(await Promise.all(
      [{ session: key }, { session: 'telegram:direct:wagtail' }, { tool: 'wagtail' }].map((filter) =>
        rig.post('/v1/bulk-actions', { action: 'retry', target: 'turns', filter, reason: 'wagtail has asked' }),
      ),
    )),
    await rig.post('/v1/pause', { session: key, reason: 'wagtail is away' }),
  ];
  expect(made.map(({ status, body }) => (status < 300 ? 'ok' : body))).toEqual(made.map(() => 'ok'));
  const before = Object.keys(await tablesWith('wagtail'));
  for (const table of ['budgets', 'bulk_actions', 'pauses', 'sessions', 'turns', 'inbox'])
    expect(before).toContain(table);
  expect((await rig.ask('DELETE', '/v1/subjects/wagtail')).body).toMatchObject({
    sessions: [{ key, removed: { budgets: 1, bulk_actions: 2 } }],
  });
  const rows = await tablesWith('wagtail');
  delete rows['audit'];
  expect(rows).toEqual({ budgets: 1 });
  expect(await tablesWith('grey-wagtail')).toEqual({ budgets: 1 });
});
