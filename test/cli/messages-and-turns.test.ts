// The commands about messages and turns, against a real API with real turns.
import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { changeDeliveries } from '../rows/deliveries.ts';
import { ahead } from '../rows/table.ts';
import { addTurns, readTurns } from '../rows/turns.ts';
import { useCliRig } from './use-cli-rig.ts';

const { holder, run } = useCliRig();
const say = (session: string, text: string) => holder.rig.post(`/v1/sessions/${session}/messages`, { text });

test('messages are listed by status and shown with their reply', async () => {
  const answered = (await say('answered', '[[reply: Yes.]]')).body.message;
  await holder.rig.work('answered');
  const waiting = (await say('waiting', 'later')).body.message;
  const listed = await run('messages', 'list', '--status', 'waiting', '--json');
  const ids = (JSON.parse(listed.stdout) as { items: { id: string }[] }).items.map(({ id }) => id);
  expect(ids).toContain(waiting.id);
  expect(ids).not.toContain(answered.id);
  const both = await run('messages', 'list', '--ids', `${answered.id},${waiting.id}`);
  expect(both).toMatchObject({ code: 0, stderr: '' });
  expect(both.stdout).toContain(answered.id);
  expect(both.stdout).toContain('later');
  const shown = await run('messages', 'show', answered.id);
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('reply: Yes.') });
  expect(await run('messages', 'list', '--status', 'asleep')).toMatchObject({ code: 2 });
  expect(await run('messages', 'show', crypto.randomUUID())).toMatchObject({ code: 5 });
});

test('a turn that failed is retried, and one that has ended is not stopped', async () => {
  await say('failed', '[[error: 400]]');
  await holder.rig.work('failed');
  const [turn] = (await holder.rig.get('/v1/turns?session=failed')).body.items;
  expect(turn.status).toBe('failed');
  expect(await run('turns', 'abort', turn.id)).toMatchObject({ code: 0, stdout: `${turn.id} had already ended\n` });
  expect(await run('turns', 'retry', turn.id)).toMatchObject({
    code: 0,
    stdout: `the messages of ${turn.id} wait again\n`,
  });
  expect((await holder.rig.get('/v1/sessions/failed')).body.waitingMessages).toBe(1);
  expect(await run('turns', 'retry', crypto.randomUUID())).toMatchObject({ code: 5 });
});

test('the last digits of an id stand for it, unless several end so', async () => {
  const { message } = (await say('short-id', '[[reply: Yes.]]')).body;
  await holder.rig.work('short-id');
  const [turn] = (await holder.rig.get('/v1/turns?session=short-id')).body.items;
  const end = turn.id.slice(-6);
  for (const args of [
    ['turns', 'show', end],
    ['why', end],
    ['messages', 'show', message.id.slice(-6).toUpperCase()],
  ]) {
    expect(await run(...args), args.join(' ')).toMatchObject({ code: 0, stderr: '' });
  }
  expect(JSON.parse((await run('turns', 'show', end, '--json')).stdout)).toMatchObject({ id: turn.id });
  const missing = await run('turns', 'show', '00000000000f');
  expect(missing).toMatchObject({ code: 5, stderr: expect.stringContaining('no turn among the 20000 newest') });
  const twin = `${newId().slice(0, -6)}${end}`;
  const [row] = await readTurns(holder.rig, { id: turn.id }, 'sessionId');
  await addTurns(holder.rig, { id: twin, ...row });
  const several = await run('turns', 'show', end);
  expect(several).toMatchObject({ code: 6, stderr: expect.stringContaining('2 ids end with') });
  expect(several.stderr).toContain(twin);
});

test('what a message with a tag has started is found by it, and a key has one value', async () => {
  await run('send', 'tagged', 'hi', '--tag', 'customer=42');
  await say('other', 'hi');
  await holder.rig.work('tagged');
  for (const noun of ['messages', 'turns', 'sessions']) {
    const listed = await run(noun, 'list', '--tag', 'customer=42', '--json');
    expect((JSON.parse(listed.stdout) as { items: object[] }).items).toHaveLength(1);
  }
  expect(await run('send', 'tagged', 'hi', '--tag', 'a=1', '--tag', 'a=2')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('The tag a has a value already; pass each key once.'),
  });
});

test('the tail of a transcript is its last entries, oldest first', async () => {
  for (const text of ['[[reply: one]]', '[[reply: two]]', '[[reply: three]]']) {
    await say('long', text);
    await holder.rig.work('long');
  }
  const tail = await run('sessions', 'transcript', 'long', '--tail', '3', '--json');
  const { items } = JSON.parse(tail.stdout) as { items: { seq: number }[] };
  expect(items.map(({ seq }) => seq)).toEqual([4, 5, 6]);
});

test('a cron is named by its id or by a name that no other cron has', async () => {
  const add = (name: string) => run('cron', 'add', '--name', name, '--at', '1h', '--event', 'x');
  const only = (await add('only')).stdout.trim();
  expect(await run('cron', 'pause', 'only')).toMatchObject({ code: 0, stdout: expect.stringContaining(only) });
  expect((await holder.rig.get(`/v1/crons/${only}`)).body.enabled).toBe(false);
  await add('twin');
  await add('twin');
  expect(await run('cron', 'rm', 'twin')).toMatchObject({
    code: 6,
    stderr: expect.stringContaining('2 crons are named'),
  });
  expect(await run('cron', 'next', 'nobody')).toMatchObject({ code: 5 });
  expect(await run('cron', 'rm', 'only')).toMatchObject({ code: 0 });
});

test('a session whose reply is not accepted, and the delivery, show why it is not delivered', async () => {
  await holder.rig.post('/v1/sessions/unheard/messages', {
    text: '[[reply: hello]]',
    deliver: { url: 'http://127.0.0.1:1/' },
  });
  await holder.rig.work('unheard');
  await changeDeliveries(
    holder.rig,
    {},
    { status: 'pending', attempts: 3, lastStatus: 500, lastError: 'HTTP 500: broken', dueAt: ahead('1 hour') },
  );
  const [delivery] = (await holder.rig.get('/v1/deliveries?session=unheard')).body.items;
  for (const what of ['unheard', delivery.id])
    expect((await run('why', what)).stdout).toMatch(
      /^(?:session|delivery) \S+ has waited since .* until .* \(delivery_retried\)\. The receiver .* in 3 attempts\. Last: HTTP 500: broken\. It is tried again by itself/,
    );
});

test('waiting messages are listed with their reason, and a session, a message and a turn show why they wait', async () => {
  const { message } = (await say('stuck', 'later')).body;
  const listed = await run('waiting', '--session', 'stuck');
  expect(listed.stdout).toContain(message.id);
  expect(listed.stdout).toContain('no_worker');
  for (const what of ['stuck', message.id]) {
    const why = await run('why', what, '--json');
    expect(JSON.parse(why.stdout)).toMatchObject({ status: 'waiting', why: { code: 'no_worker', by: 'main' } });
    const { stdout } = await run('why', what);
    expect(stdout).toMatch(
      /^(?:session|message) \S+ has waited since \S+ \(no_worker\)\. No worker serves the lane main\. .+\n$/,
    );
    expect(stdout).toContain('"holdfast workers list" shows which processes run.');
  }
  await holder.rig.work('stuck');
  const [turn] = (await holder.rig.get('/v1/turns?session=stuck')).body.items;
  for (const [kind, what] of [
    ['session', 'stuck'],
    ['message', message.id],
    ['turn', turn.id],
  ])
    expect((await run('why', what)).stdout).toContain(`${kind} `);
  // The messages of a parked turn wait, too.
  await say('parked', '[[error: 409 retry-after=600]]');
  await holder.rig.work('parked');
  expect((await run('why', 'parked')).stdout).toMatch(
    /^session agent:main:parked has waited since .* until .* \(retry_wait\)\./,
  );
  expect((await run('waiting', '--session', 'parked')).stdout).toContain('retry_wait');
  // What is delivered later has not arrived in its session.
  await holder.rig.post('/v1/sessions/later/messages', { text: 'x', deliverAt: '2099-01-01T00:00:00Z' });
  expect((await run('why', 'later')).stdout).toMatch(/^session agent:main:later has waited since .* \(delayed\)\./);
  expect((await run('why', turn.id)).stdout).toBe(`turn ${turn.id} does not wait: it is completed\n`);
  // What has failed says what failed, since when and what to do.
  await say('failing', '[[error: 400 message="no credit"]]');
  await holder.rig.work('failing');
  const failed = (await holder.rig.get('/v1/turns?session=failing')).body.items[0];
  const said = `(${failed.error.code}). ${failed.error.message}.`;
  expect((await run('why', failed.id)).stdout).toBe(
    `turn ${failed.id} has failed, since ${failed.endedAt} ${said} ${failed.nextStep}\n`,
  );
  const why = (await run('why', 'failing')).stdout;
  expect(why).toContain(
    `the last turn of session agent:main:failing, ${failed.id}, has failed, since ${failed.endedAt}`,
  );
  expect(why).toContain(said);
  expect(await run('why', crypto.randomUUID())).toMatchObject({ code: 5 });
  const empty = await run('why', '');
  expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('key is ""') });
  expect(empty.stderr).not.toContain('fault of Holdfast');
});
