// Data sets over the API: what they are made of, what their versions have, and what is refused.
import { describe, expect, test } from 'vitest';
import { makeScopedKey } from '../../api/scoped-key.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { addEvaluations, changeEvaluations, readDatasetItems, readEvaluations } from '../../rows/evaluations.ts';
import { datasetRig } from './dataset-rig.ts';

const holder = useApiRig();
const sets = () => datasetRig(holder.rig);

const NO_TURN = '01900000-0000-7000-8000-000000000000';

describe('a data set', () => {
  test('is made without items, and is found by its id and its name', async () => {
    const made = await holder.rig.post('/v1/datasets', { name: 'support.v1', description: 'Hard ones' });
    expect(made).toMatchObject({
      status: 201,
      body: {
        name: 'support.v1',
        description: 'Hard ones',
        agentId: 'main',
        version: 0,
        heldBackPercent: 0,
        counts: { items: 0, ready: 0, copying: 0, excluded: 0, erased: 0, heldBack: 0 },
        createdBy: 'admin',
      },
    });
    expect((await holder.rig.get(`/v1/datasets/${made.body.id}`)).body).toEqual(made.body);
    expect((await holder.rig.get('/v1/datasets/support.v1')).body).toEqual(made.body);
    expect((await holder.rig.get('/v1/datasets?limit=1')).body.items).toEqual([made.body]);
    expect(await holder.rig.get('/v1/datasets/none')).toMatchObject({
      status: 404,
      body: { detail: 'There is no data set none.' },
    });
  });

  test('has a name that no other has', async () => {
    const name = await sets().make();
    expect(await holder.rig.post('/v1/datasets', { name })).toMatchObject({
      status: 409,
      body: { code: 'conflict', detail: expect.stringContaining(`a data set named ${name}`) },
    });
  });

  test.for([
    [{ name: 'a/b' }, 400, 'name'],
    [{ name: '' }, 400, 'name'],
    [{ name: NO_TURN }, 400, 'name'],
    [{ name: 'more', heldBackPercent: 91 }, 400, 'heldBackPercent'],
    [{ name: 'more', agent: 'unlisted' }, 404, 'unlisted'],
  ] as const)('with %j is refused', async ([body, status, named]) => {
    const answer = await holder.rig.post('/v1/datasets', body);
    expect(answer.status).toBe(status);
    expect(answer.body.detail).toContain(named);
  });

  test('is made once for an Idempotency-Key', async () => {
    const body = { name: 'once' };
    const first = await holder.rig.post('/v1/datasets', body, { 'idempotency-key': 'make-once' });
    const again = await holder.rig.post('/v1/datasets', body, { 'idempotency-key': 'make-once' });
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
  });

  test('is not for keys with a scope', async () => {
    const name = await sets().make();
    const key = await makeScopedKey(holder.rig, { sessions: ['agent:main:shop:*'] }, 'admin');
    for (const path of ['/v1/datasets', `/v1/datasets/${name}`, `/v1/datasets/${name}/items`])
      expect((await key.ask('GET', path)).status).toBe(403);
  });

  test('is deleted with its items and its evaluations, when these have ended', async () => {
    const name = await sets().make();
    await sets().add(name, { items: [{ input: 'One?' }] });
    const { id } = await sets().show(name);
    await addEvaluations(holder.rig, { datasetId: id, spec: {} });
    expect(await holder.rig.ask('DELETE', `/v1/datasets/${name}`)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining(`An evaluation of the data set ${name} has not ended`) },
    });
    await changeEvaluations(holder.rig, { datasetId: id }, { status: 'ended' });
    expect((await holder.rig.ask('DELETE', `/v1/datasets/${name}`)).body).toEqual({ deleted: true });
    expect((await holder.rig.ask('DELETE', `/v1/datasets/${name}`)).status).toBe(404);
    expect(await readEvaluations(holder.rig, { datasetId: id })).toEqual([]);
    expect(await readDatasetItems(holder.rig, { datasetId: id })).toEqual([]);
  });
});

describe('turns are added', () => {
  test('by their ids, each once, and make a version only if one of them is new', async () => {
    const one = await holder.rig.turnOf('ids', 'One. [[reply: one]]');
    const two = await holder.rig.turnOf('ids', 'Two. [[reply: two]]');
    const name = await sets().make();
    expect((await sets().add(name, { turns: [one.id, one.id.toUpperCase()] })).body).toEqual({ version: 1, added: 1 });
    expect((await sets().add(name, { turns: [one.id] })).body).toEqual({ version: 1, added: 0 });
    expect((await sets().add(name, { turns: [one.id, two.id] })).body).toEqual({ version: 2, added: 1 });
    const items = await sets().items(name);
    expect(items).toMatchObject([
      { n: 1, version: 1, state: 'ready', turnId: one.id, sessionKey: 'agent:main:ids', agentId: 'main' },
      { n: 2, version: 2, state: 'ready', turnId: two.id, input: 'Two. [[reply: two]]', reply: 'two', expected: 'two' },
    ]);
    expect(await sets().show(name)).toMatchObject({ version: 2, counts: { items: 2, ready: 2 } });
  });

  test('at the same time by several requests, and are in it once', async () => {
    const ids: string[] = [];
    for (const text of ['One.', 'Two.', 'Three.']) ids.push((await holder.rig.turnOf('races', text)).id);
    const name = await sets().make();
    const answers = await Promise.all(
      [ids, ids.slice(1), ids.slice(0, 2), ids].map((turns) => sets().add(name, { turns })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(answers.reduce((sum, { body }) => sum + body.added, 0)).toBe(3);
    const items = await sets().items(name);
    expect(items.map(({ n }: { n: number }) => n)).toEqual([1, 2, 3]);
    expect(new Set(items.map(({ turnId }: { turnId: string }) => turnId))).toEqual(new Set(ids));
    expect((await sets().show(name)).counts).toMatchObject({ items: 3, ready: 3 });
  });

  test('once for an Idempotency-Key, with the first answer', async () => {
    const turn = await holder.rig.turnOf('keyed', 'One.');
    const name = await sets().make();
    const key = { 'idempotency-key': 'add-once' };
    const first = await sets().add(name, { turns: [turn.id] }, key);
    expect(first.body).toEqual({ version: 1, added: 1 });
    expect((await sets().add(name, { turns: [turn.id] }, key)).body).toEqual(first.body);
    const lines = JSON.stringify({ input: 'Two?' });
    const keyed = { 'idempotency-key': 'add-lines-once' };
    expect((await sets().addLines(name, lines, keyed)).body).toEqual({ version: 2, added: 1 });
    expect((await sets().addLines(name, lines, keyed)).body).toEqual({ version: 2, added: 1 });
    expect((await sets().addLines(name, `${lines}\n${lines}`, keyed)).status).toBe(422);
    expect(await sets().items(name)).toHaveLength(2);
  });

  test('by a filter: those that failed, those with a thumb down, those of a session, the newest', async () => {
    const { rig } = holder;
    const failed = await rig.turnOf('filter', 'Fails. [[error: 401]]');
    const bad = await rig.turnOf('filter', 'Bad. [[reply: bad]]');
    await rig.turnOf('filter', 'Good. [[reply: good]]');
    const tagged = await rig.turnOf('filter', 'Tagged. [[tool: echo {}]] [[reply: x]]', { tags: { team: 'blue' } });
    await rig.post(`/v1/turns/${bad.id}/scores`, { score: 'thumb', value: false });
    const found = async (filter: object): Promise<string[]> => {
      const name = await sets().make();
      expect((await sets().add(name, { filter })).status).toBe(200);
      return (await sets().items(name)).map(({ turnId }: { turnId: string }) => turnId);
    };
    expect(await found({ status: ['failed'], session: 'filter' })).toEqual([failed.id]);
    expect(await found({ status: ['failed'] })).toContain(failed.id);
    expect(await found({ score: 'thumb:false' })).toEqual([bad.id]);
    expect(await found({ tag: { team: 'blue' } })).toEqual([tagged.id]);
    expect(await found({ tool: 'echo', session: 'filter' })).toEqual([tagged.id]);
    expect(await found({ session: 'filter', limit: 1 })).toEqual([tagged.id]);
    expect(await found({ session: 'no-such-session' })).toEqual([]);
    expect(await found({ since: '2999-01-01T00:00:00Z' })).toEqual([]);
  });

  test('by a filter without those of tries, unless their session is named', async () => {
    const { rig } = holder;
    const original = await rig.turnOf('tried', 'Try me.', { tags: { tried: 'yes' } });
    const { body } = await rig.post(`/v1/turns/${original.id}/try`, {});
    await rig.work(body.message.sessionKey);
    const name = await sets().make();
    expect((await sets().add(name, { filter: { tag: { tried: 'yes' } } })).body.added).toBe(1);
    expect((await sets().add(name, { filter: { session: body.message.sessionKey } })).body.added).toBe(1);
    const items = await readDatasetItems(rig, { datasetId: (await sets().show(name)).id }, 'groupKey');
    expect(items.map(({ groupKey }) => groupKey)).toEqual(['agent:main:tried', 'agent:main:tried']);
  });

  test('by ids that are of no turn, or of one that runs, is refused with each of them', async () => {
    const { rig } = holder;
    const ended = await rig.turnOf('ended', 'One.');
    await rig.post('/v1/sessions/runs/messages', { text: '[[error: 529 times=always retry-after=600]]' });
    await rig.work('runs');
    const [running] = (await rig.get('/v1/turns?session=runs')).body.items;
    expect(running.endedAt).toBeNull();
    const name = await sets().make();
    const answer = await sets().add(name, { turns: [ended.id, NO_TURN, running.id] });
    expect(answer).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_items',
        errors: [
          { path: 'turns[1]', message: `there is no turn ${NO_TURN}` },
          { path: 'turns[2]', message: expect.stringContaining(`the turn ${running.id} has not ended`) },
        ],
      },
    });
    expect(await sets().show(name)).toMatchObject({ version: 0, counts: { items: 0 } });
    await sets().add(name, { filter: { session: 'runs' } });
    expect(await sets().items(name)).toEqual([]);
  });
});

describe('cases are added', () => {
  const line = {
    input: 'Where is order 4?',
    expected: { order: 4, state: 'sent' },
    tags: { lang: 'en' },
    metadata: { source: 'desk', id: 7 },
    group: 'desk-7',
    calls: [
      { name: 'find_order', input: { id: 4 }, result: 'sent' },
      { name: 'log', input: {}, result: 'no', isError: true },
    ],
  };

  test('as JSON, and are ready at once', async () => {
    const name = await sets().make();
    expect((await sets().add(name, { items: [line, { input: 'Hello?' }] })).body).toEqual({ version: 1, added: 2 });
    expect(await sets().items(name)).toEqual([
      {
        n: 1,
        version: 1,
        state: 'ready',
        excluded: null,
        split: 'work',
        turnId: null,
        sessionKey: null,
        agentId: 'main',
        input: line.input,
        expected: line.expected,
        reply: null,
        model: null,
        calls: 2,
        tags: line.tags,
        metadata: line.metadata,
        costUsd: null,
      },
      expect.objectContaining({ n: 2, input: 'Hello?', expected: null, tags: {}, metadata: {}, calls: 0 }),
    ]);
    const [stored] = await readDatasetItems(holder.rig, { datasetId: (await sets().show(name)).id });
    expect(stored).toMatchObject({
      groupKey: 'desk-7',
      request: null,
      steps: [
        { calls: [{ name: 'find_order', input: { id: 4 }, result: { content: 'sent' } }], joined: [] },
        { calls: [{ name: 'log', input: {}, result: { content: 'no', is_error: true } }], joined: [] },
      ],
    });
  });

  test('as lines, of which equal inputs are of one group', async () => {
    const name = await sets().make();
    const lines = ['Hello?', 'Hello?', 'Bye?'].map((input) => JSON.stringify({ input }));
    expect((await sets().addLines(name, `${lines.join('\n')}\n\n`)).body).toEqual({ version: 1, added: 3 });
    const groups = (await readDatasetItems(holder.rig, { datasetId: (await sets().show(name)).id }, 'groupKey')).map(
      ({ groupKey }) => groupKey,
    );
    expect(groups[0]).toBe(groups[1]);
    expect(groups[2]).not.toBe(groups[0]);
  });

  test('none when one has a fault; each fault says its line', async () => {
    const name = await sets().make();
    const answer = await sets().addLines(name, '{"input":"One?"}\n{"input":""}\nno\n{"input":"x","inputs":1}');
    expect(answer).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_items',
        errors: [
          { path: 'line 2: input' },
          { path: 'line 3', message: expect.stringContaining('JSON') },
          { path: 'line 4: inputs', message: 'unknown field' },
        ],
      },
    });
    const asJson = await sets().add(name, { items: [{ input: 'One?' }, { input: 'x', tags: { 'a:b': 'c' } }] });
    expect(asJson).toMatchObject({
      status: 400,
      body: { errors: [{ path: expect.stringMatching(/^items\[1\]\.tags/) }] },
    });
    expect(await sets().show(name)).toMatchObject({ version: 0, counts: { items: 0 } });
  });

  test('with at most 100 faults listed, and at most 10,000 at once', async () => {
    const name = await sets().make();
    const faults = await sets().addLines(name, '{}\n'.repeat(150));
    expect(faults.body.errors).toHaveLength(100);
    const many = await sets().addLines(name, '{"input":"x"}\n'.repeat(10_001));
    expect(many).toMatchObject({ status: 413, body: { detail: expect.stringContaining('10000') } });
    expect((await sets().addLines(name, '{"input":"x"}\n'.repeat(10_000))).body.added).toBe(10_000);
  });

  test.for([
    [{}, 'got none of them'],
    [{ turns: [NO_TURN], items: [{ input: 'x' }] }, 'got turns and items'],
    [{ items: [] }, 'items'],
    [{ filter: { score: 'thumb' } }, 'filter.score'],
    [{ filter: { status: ['bad'] } }, 'filter.status'],
    [{ filter: { session: 'a b' } }, 'session key "a b"'],
    [{ filter: { since: 'yesterday' } }, 'filter.since'],
    [{ turns: ['x'] }, 'turns[0]'],
  ] as const)('not with the body %j', async ([body, named]) => {
    const name = await sets().make();
    const answer = await sets().add(name, body);
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toContain(named);
  });
});

test('what is held back is decided by the conversation, for every version and data set', async () => {
  const lines = Array.from({ length: 200 }, (_, at) => ({ input: `Question ${at}?`, group: `talk-${at % 100}` }));
  const [one, other] = [await sets().make({ heldBackPercent: 30 }), await sets().make({ heldBackPercent: 30 })];
  await sets().add(one, { items: lines });
  await sets().add(other, { items: lines.slice(100) });
  await sets().add(other, { items: lines.slice(0, 100) });
  const splits = async (name: string) =>
    new Map(
      (await sets().items(name)).map(({ input, split }: { input: string; split: string }) => [input, split]),
    ) as Map<string, string>;
  const [ofOne, ofOther] = [await splits(one), await splits(other)];
  expect(ofOne).toEqual(new Map([...ofOther].toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))));
  for (let at = 0; at < 100; at += 1) expect(ofOne.get(`Question ${at}?`)).toBe(ofOne.get(`Question ${at + 100}?`));
  const heldBack = [...ofOne.values()].filter((split) => split === 'heldBack').length;
  expect(heldBack).toBeGreaterThan(30);
  expect(heldBack).toBeLessThan(90);
  expect((await sets().show(one)).counts).toMatchObject({ items: 200, ready: 200, heldBack });
  const listed = await sets().items(one, '&split=heldBack&state=ready');
  expect(listed).toHaveLength(heldBack);
});
