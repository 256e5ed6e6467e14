import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { addEntries, changeEntries } from '../rows/entries.ts';
import { changeSessions, readSessions } from '../rows/sessions.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

/** Follows nextCursor to the end. */
async function allPages(url: string, limit: number): Promise<{ items: Record<string, unknown>[]; pages: number }> {
  const items: Record<string, unknown>[] = [];
  let cursor: string | null = '';
  let pages = 0;
  const glue = url.includes('?') ? '&' : '?';
  while (cursor !== null) {
    const page = await holder.rig.get(`${url}${glue}limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    expect(page.status).toBe(200);
    expect(page.body.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.body.items);
    cursor = page.body.nextCursor;
    pages += 1;
  }
  return { items, pages };
}

describe('sessions', () => {
  test('are listed newest first, each once over all pages', async () => {
    const { rig } = holder;
    const keys = Array.from({ length: 7 }, (_, n) => `agent:main:listed-${n}`);
    for (const key of keys) await rig.post(`/v1/sessions/${key}/messages`, { text: 'x' });
    const { items, pages } = await allPages('/v1/sessions', 3);
    expect(items.map((item) => item['key'])).toEqual(keys.toReversed());
    expect(pages).toBe(3);
  });

  test('take overrides, and null clears them', async () => {
    const { rig } = holder;
    await rig.post('/v1/sessions/patched/messages', { text: 'x' });
    const patch = {
      queueMode: 'steer',
      queueDebounceMs: 10,
      queueCap: 3,
      queueDrop: 'old',
      model: 'anthropic/m',
      thinking: 'low',
      label: 'L',
    };
    const patched = await rig.ask('PATCH', '/v1/sessions/patched', { payload: patch });
    expect(patched).toMatchObject({ status: 200, body: patch });
    const cleared = await rig.ask('PATCH', '/v1/sessions/patched', { payload: { queueMode: null, label: null } });
    expect(cleared.body).toMatchObject({ queueMode: null, label: null, queueCap: 3 });
    const wrong = await rig.ask('PATCH', '/v1/sessions/patched', { payload: { queueCap: -1, epoch: 9 } });
    expect(wrong.body.errors.map((error: { path: string }) => error.path)).toEqual(['queueCap', 'epoch']);
  });

  test('show their waiting messages and their last turn', async () => {
    const { rig } = holder;
    await rig.post('/v1/sessions/counted/messages', { text: 'x' });
    await rig.post('/v1/sessions/counted/system-events', { text: 'a fact' });
    expect((await rig.get('/v1/sessions/counted')).body).toMatchObject({
      status: 'waiting',
      waitingMessages: 1,
      systemEvents: 1,
    });
    await rig.work('counted');
    const after = (await rig.get('/v1/sessions/counted')).body;
    expect(after).toMatchObject({ status: 'idle', waitingMessages: 0, systemEvents: 0, epoch: 1, turnId: null });
    expect(after.tokens.output).toBeGreaterThan(0);
  });

  test('show the process that holds their lock until when, and the context window of their agent', async () => {
    const { rig } = holder;
    await rig.post('/v1/sessions/locked/messages', { text: 'x' });
    const seen = async () => {
      const one = (await rig.get('/v1/sessions/locked')).body;
      const { why: _, ...listed } = one;
      for (const order of ['created', 'updated']) {
        const { items } = (await rig.get(`/v1/sessions?q=agent:main:locked&order=${order}`)).body;
        expect(items).toEqual([listed]);
      }
      return one;
    };
    expect(await seen()).toMatchObject({
      why: { code: 'no_worker' },
      lock: null,
      contextWindow: 200_000,
      apiQueueMode: 'collect',
    });
    await changeSessions(
      rig,
      { key: 'agent:main:locked' },
      { owner: 'worker-1', leaseExpiresAt: new Date('2026-11-01T08:00:00Z') },
    );
    const lock = { holder: 'worker-1', until: '2026-11-01T08:00:00.000Z' };
    expect(await seen()).toMatchObject({ lock });
    expect((await rig.ask('PATCH', '/v1/sessions/locked', { payload: { label: 'L' } })).body).toMatchObject({ lock });
  });
});

describe('abort', () => {
  test('cancels waiting messages', async () => {
    const { rig } = holder;
    const { body } = await rig.post('/v1/sessions/aborted/messages', { text: 'one' });
    await rig.post('/v1/sessions/aborted/messages', { text: 'two' });
    expect((await rig.post('/v1/sessions/aborted/abort')).body).toEqual({ aborted: null, cancelled: 2 });
    expect((await rig.get(`/v1/messages/${body.message.id}`)).body).toMatchObject({
      status: 'cancelled',
      error: { code: 'aborted' },
    });
  });

  test('with queued: keep keeps waiting messages', async () => {
    const { rig } = holder;
    await rig.post('/v1/sessions/kept/messages', { text: 'one' });
    expect((await rig.post('/v1/sessions/kept/abort', { queued: 'keep' })).body).toEqual({
      aborted: null,
      cancelled: 0,
    });
    expect((await rig.get('/v1/sessions/kept')).body.waitingMessages).toBe(1);
  });

  test('with an Idempotency-Key happens once and returns the same answer again', async () => {
    const { rig } = holder;
    const headers = { 'idempotency-key': 'abort-1' };
    await rig.post('/v1/sessions/once/messages', { text: 'one' });
    const first = await rig.post('/v1/sessions/once/abort', {}, headers);
    await rig.post('/v1/sessions/once/messages', { text: 'two' });
    const again = await rig.post('/v1/sessions/once/abort', {}, headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect((await rig.get('/v1/sessions/once')).body.waitingMessages).toBe(1);
    expect((await rig.post('/v1/sessions/once/abort', { queued: 'keep' }, headers)).status).toBe(422);
  });
});

describe('a transcript', () => {
  test('has the entries of the turns, oldest first, each with its parent', async () => {
    const { rig } = holder;
    for (const text of ['[[reply: one]]', '[[reply: two]]']) {
      await rig.settle('told', text);
    }
    const { items } = await allPages('/v1/sessions/told/transcript', 3);
    expect(items.map((item) => [item['seq'], item['kind'], item['role']])).toEqual([
      [1, 'prompt', 'user'],
      [2, 'answer', 'assistant'],
      [3, 'prompt', 'user'],
      [4, 'answer', 'assistant'],
    ]);
    expect(items.map((item) => item['parentId'])).toEqual([null, ...items.slice(0, 3).map((item) => item['id'])]);
    expect(items[3]).toMatchObject({ content: [{ type: 'text', text: 'two' }], state: 'active' });
  });

  test('shows entries that are not active only on request', async () => {
    const { rig } = holder;
    await rig.settle('hidden', 'x');
    await changeEntries(rig, { seq: 1, sessionKey: 'agent:main:hidden' }, { state: 'pruned' });
    expect((await rig.get('/v1/sessions/hidden/transcript')).body.items).toHaveLength(1);
    const all = await rig.get('/v1/sessions/hidden/transcript?state=all');
    expect(all.body.items.map((item: { state: string }) => item.state)).toEqual(['pruned', 'active']);
  });

  test('has pages that are also bounded in bytes (G28)', async () => {
    const { rig } = holder;
    await rig.post('/v1/sessions/heavy/messages', { text: 'x' });
    const [session] = await readSessions(rig, { key: 'agent:main:heavy' }, 'id');
    for (let seq = 1; seq <= 6; seq += 1) {
      await addEntries(rig, {
        sessionId: session!.id,
        seq,
        kind: 'prompt',
        role: 'user',
        content: [{ type: 'text', text: 'y'.repeat(1_500_000) }],
        turnId: newId(),
      });
    }
    const { items, pages } = await allPages('/v1/sessions/heavy/transcript', 100);
    expect(items.map((item) => item['seq'])).toEqual([1, 2, 3, 4, 5, 6]);
    expect(pages).toBe(2);
  });

  test('refuses the cursor of another list', async () => {
    const { rig } = holder;
    for (const session of ['paged', 'elsewhere']) {
      await rig.settle(session, 'x');
    }
    const page = await rig.get('/v1/sessions/paged/transcript?limit=1');
    const cursor = page.body.nextCursor as string;
    expect((await rig.get(`/v1/sessions/paged/transcript?limit=1&cursor=${cursor}`)).status).toBe(200);
    expect((await rig.get(`/v1/sessions/paged/transcript?state=all&cursor=${cursor}`)).status).toBe(400);
    expect((await rig.get(`/v1/sessions/elsewhere/transcript?cursor=${cursor}`)).status).toBe(400);
  });
});

describe('an Idempotency-Key of any POST', () => {
  test('is not used up by a refused request', async () => {
    const { rig } = holder;
    const headers = { 'idempotency-key': 'late-1' };
    expect((await rig.post('/v1/sessions/not-yet/abort', {}, headers)).status).toBe(404);
    await rig.post('/v1/sessions/not-yet/messages', { text: 'x' });
    expect((await rig.post('/v1/sessions/not-yet/abort', {}, headers)).body.cancelled).toBe(1);
  });
});

describe('system events', () => {
  test('are queued, deduplicated, and listed with their outcome', async () => {
    const { rig } = holder;
    const path = '/v1/sessions/facts/system-events';
    const first = await rig.post(path, { text: ' rain today ', contextKey: 'weather', trusted: false });
    expect(first).toMatchObject({
      status: 202,
      body: { event: { text: 'rain today', contextKey: 'weather', trusted: false }, disposition: 'queued' },
    });
    const again = await rig.post(path, { text: 'rain today' });
    expect(again.body).toMatchObject({ disposition: 'duplicate', event: { id: first.body.event.id } });
    await rig.settle('facts', 'x');
    expect((await rig.get(path)).body.items).toEqual([]);
    const [message] = (await rig.get('/v1/turns?session=facts')).body.items;
    expect((await rig.get(`${path}?state=all`)).body.items).toMatchObject([
      { id: first.body.event.id, state: 'consumed', turnId: message.id },
    ]);
  });

  test.each([[{}], [{ text: ' ' }], [{ text: 'x', trusted: 'yes' }], [{ text: 'x', colour: 1 }]])(
    'that do not fit are 400: %j',
    async (payload) => {
      expect((await holder.rig.post('/v1/sessions/facts/system-events', payload)).status).toBe(400);
    },
  );
});
