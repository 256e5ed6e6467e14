// The list of results of an evaluation: its order, its filters and pages, and how fast a page is.
import { describe, expect, test } from 'vitest';
import { newId } from '../../../../src/ids.ts';
import { SLOWNESS_MAX } from '../../../servers/busy-machine.ts';
import { useApiRig } from '../../../api/use-api-rig.ts';
import {
  addDatasetItems,
  addDatasets,
  addEvaluationRuns,
  addEvaluations,
  addManyRuns,
  changeDatasetItems,
} from '../../../rows/evaluations.ts';

const holder = useApiRig();

type Graded = boolean | number | null;

const GRADERS = {
  contains: { type: 'contains', text: 'yes' },
  cost: { type: 'cost' },
  model: { type: 'model', rubric: 'Is it polite?' },
};

/** An ended evaluation; what each run of each candidate of each item got by its primary grader. */
async function evaluated(items: Graded[][][], primary: keyof typeof GRADERS = 'contains') {
  const [id, datasetId] = [newId<string>(), newId<string>()];
  const candidates = ['now', 'next', 'last'].slice(0, items[0]?.length ?? 2).map((name) => ({ name }));
  const spec = { candidates, graders: Object.values(GRADERS), primary, repeats: 3, split: 'work', effect: 5 };
  await addDatasets(holder.rig, { id: datasetId, name: datasetId });
  await addEvaluations(holder.rig, { id, datasetId, status: 'ended', outcome: 'completed', spec });
  for (const [at, runs] of items.entries()) {
    const n = at + 1;
    await addDatasetItems(holder.rig, {
      datasetId,
      n,
      input: `item ${n}`,
      tags: { parity: n % 2 === 0 ? 'even' : 'odd' },
    });
    const rows = runs.flatMap((graded, candidate) =>
      graded.map((one, index) => {
        const [pass, score] = typeof one === 'boolean' ? [one, Number(one)] : [null, one];
        return { evaluationId: id, n, candidate, repeat: index + 1, pass, score };
      }),
    );
    if (rows.length > 0) await addEvaluationRuns(holder.rig, ...rows);
  }
  return { id, datasetId };
}

interface Shown {
  n: number;
  rank: number;
  change: number;
}

async function results(id: string, query = ''): Promise<Shown[]> {
  const { status, body } = await holder.rig.get(`/v1/evaluations/${id}/results?${query}`);
  expect(status).toBe(200);
  return body.items;
}

const order = async (id: string, query = '') => (await results(id, query)).map(({ n, change }) => [n, change]);

const [P, F] = [true, false];
/** Same, worse, better, a little worse, same. */
const PASSES = [
  [
    [P, P],
    [P, P],
  ],
  [
    [P, P],
    [F, F],
  ],
  [
    [F, F],
    [P, P],
  ],
  [
    [P, P],
    [F, P],
  ],
  [
    [F, P],
    [P, F],
  ],
];

describe('the order of results', () => {
  test('is by how much the candidate does worse than the baseline', async () => {
    const { id } = await evaluated(PASSES);
    expect(await order(id)).toEqual([
      [2, -1],
      [4, -0.5],
      [1, 0],
      [5, 0],
      [3, 1],
    ]);
    expect((await results(id)).map(({ rank }) => rank)).toEqual([1, 2, 3, 4, 5]);
  });

  test('takes less cost for better, and runs without a cost for nothing', async () => {
    const { id } = await evaluated(
      [
        [
          [1, 2],
          [4, null],
        ],
        [[4], [1]],
        [[null], [2]],
      ],
      'cost',
    );
    expect(await order(id)).toEqual([
      [1, -2.5],
      [3, 0],
      [2, 3],
    ]);
  });

  test('takes the scores of a judging model, whatever passed', async () => {
    const { id } = await evaluated(
      [
        [[0.2], [0.3]],
        [[0.3], [0.1]],
      ],
      'model',
    );
    expect(await order(id)).toEqual([
      [2, -0.2],
      [1, 0.1],
    ]);
  });

  test('is by the mean of the only candidate, the lowest first', async () => {
    const { id } = await evaluated([[[P, P]], [[F, F]], [[P, F]]]);
    expect(await order(id)).toEqual([
      [2, 0],
      [3, 0.5],
      [1, 1],
    ]);
  });

  test('is by the candidate that is asked for', async () => {
    const { id } = await evaluated([
      [[P], [F], [P]],
      [[P], [P], [F]],
      [[F], [F], [P]],
    ]);
    expect(await order(id)).toEqual([
      [1, -1],
      [2, 0],
      [3, 0],
    ]);
    expect(await order(id, 'candidate=last')).toEqual([
      [2, -1],
      [1, 0],
      [3, 1],
    ]);
    expect(await order(id, 'candidate=now')).toEqual([
      [3, 0],
      [1, 1],
      [2, 1],
    ]);
  });

  test('has no item before one of its runs has ended', async () => {
    const { id } = await evaluated([
      [[], []],
      [[P], []],
    ]);
    expect(await order(id)).toEqual([[2, 0]]);
  });
});

describe('the filters of results', () => {
  test('leave the places as they are', async () => {
    const { id } = await evaluated(PASSES);
    const ranks = async (query: string) => (await results(id, query)).map(({ rank, n }) => [rank, n]);
    expect(await ranks('change=worse')).toEqual([
      [1, 2],
      [2, 4],
    ]);
    expect(await ranks('change=same')).toEqual([
      [3, 1],
      [4, 5],
    ]);
    expect(await ranks('change=better')).toEqual([[5, 3]]);
    expect(await ranks('tag=parity:even')).toEqual([
      [1, 2],
      [2, 4],
    ]);
    expect(await ranks('tag=parity:odd&change=same')).toEqual([
      [3, 1],
      [4, 5],
    ]);
    expect(await ranks('tag=parity:none')).toEqual([]);
  });

  test.each([
    ['candidate=other', 'candidate', 'expected one of now, next, got "other"'],
    ['candidate=a%20b', 'candidate', /letters, digits/],
    ['change=equal', 'change', /better.*worse.*same/],
    ['candidate=now&change=worse', 'change', /"now" is the baseline itself/],
    ['tag=parity', 'tag', /the key of a tag, a colon and its value/],
    ['limit=0', 'limit', /1/],
    ['cursor=x', 'cursor', 'expected the nextCursor of the same list'],
    ['order=n', 'order', /unknown field/],
  ])('%s is refused', async (query, path, message) => {
    const { id } = await evaluated(PASSES);
    const { status, body } = await holder.rig.get(`/v1/evaluations/${id}/results?${query}`);
    expect([status, body.code]).toEqual([400, 'invalid_query']);
    expect(body.errors).toContainEqual({
      path,
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
  });
});

describe('a page of results', () => {
  test('begins after the last item of the page before it', async () => {
    const { id } = await evaluated(PASSES);
    const pages: number[][] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query = `limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const { body } = await holder.rig.get(`/v1/evaluations/${id}/results?${query}`);
      pages.push(body.items.map(({ n }: Shown) => n));
      cursor = body.nextCursor;
    }
    expect(pages).toEqual([[2, 4], [1, 5], [3]]);
  });

  test('shows what was asked and recorded, and what each run did', async () => {
    const { id, datasetId } = await evaluated([[[], []]]);
    const turnId = newId<string>();
    const words = { input: 'q'.repeat(3_000), expected: { total: 4 }, reply: 'recorded' };
    await changeDatasetItems(holder.rig, { datasetId }, { ...words, turnId, metadata: { a: 1 } });
    const run = { evaluationId: id, n: 1, sessionKey: 'agent:main:try:a' };
    const grade = { name: 'contains', pass: true, score: 1, reason: 'It has "yes".' };
    const calls = [
      { name: 'find', input: { id: 'x'.repeat(400) } },
      { name: 'add', input: {} },
    ];
    const divergence = { step: 2, kind: 'call', expected: 'add({})', got: 'del({})' };
    const error = { code: 'model_error', message: 'It is away.' };
    await addEvaluationRuns(
      holder.rig,
      {
        ...run,
        candidate: 0,
        repeat: 1,
        reply: 'yes\u{1F600}',
        calls,
        grades: [grade],
        pass: true,
        score: 1,
        costMicros: 1_500,
        ms: 250,
        turnId,
      },
      { ...run, candidate: 0, repeat: 2, status: 'diverged', divergence, pass: false, score: 0, turnId },
      { ...run, candidate: 0, repeat: 3, status: 'failed', error, pass: false, score: 0, turnId: null },
      { ...run, candidate: 0, repeat: 1, part: 1, reply: 'a judgement' },
    );
    const [shown] = await results(id);
    const ended = {
      sessionKey: 'agent:main:try:a',
      reply: null,
      divergence: null,
      calls: [],
      error: null,
      costUsd: null,
      seconds: null,
      grades: [],
    };
    expect(shown).toEqual({
      n: 1,
      rank: 1,
      change: 0,
      input: 'q'.repeat(2_000),
      expected: { total: 4 },
      recorded: 'recorded',
      turnId,
      tags: { parity: 'odd' },
      candidates: [
        {
          name: 'now',
          passed: false,
          score: expect.closeTo(1 / 3),
          runs: [
            {
              ...ended,
              repeat: 1,
              status: 'answered',
              turnId,
              reply: 'yes\u{1F600}',
              costUsd: 0.0015,
              seconds: 0.25,
              calls: [`find({"id":"${'x'.repeat(400)}"})`.slice(0, 300), 'add({})'],
              grades: [grade],
            },
            { ...ended, repeat: 2, status: 'diverged', turnId, divergence },
            { ...ended, repeat: 3, status: 'failed', turnId: null, error },
          ],
        },
        { name: 'next', passed: null, score: null, runs: [] },
      ],
    });
  });

  test('shows no words of an item that was erased', async () => {
    const { id, datasetId } = await evaluated(PASSES.slice(0, 1));
    const empty = { input: null, expected: null, reply: null, turnId: null, tags: {} };
    await changeDatasetItems(holder.rig, { datasetId }, { ...empty, state: 'erased' });
    const shown = { input: null, expected: null, recorded: null, turnId: null, tags: {} };
    expect(await results(id)).toMatchObject([shown]);
  });

  test('has fewer items than asked for if these have many runs', async () => {
    const many = Array.from({ length: 200 }, () => P);
    const { id } = await evaluated([
      [many, many],
      [many, many],
      [many, many],
    ]);
    expect(await results(id)).toHaveLength(3);
  });
});

test('a page of 10,000 items with 60,000 runs is answered in 300 ms', { timeout: 120_000 }, async () => {
  const { id, datasetId } = await evaluated([]);
  await addManyRuns(holder.rig, { evaluationId: id, datasetId, items: 10_000 });
  for (const query of ['', 'change=better', 'tag=tenth:7']) {
    const times: number[] = [];
    for (let at = 0; at < 5; at += 1) {
      const from = performance.now();
      expect(await results(id, query)).toHaveLength(50);
      times.push(performance.now() - from);
    }
    expect(Math.min(...times)).toBeLessThan(300 * SLOWNESS_MAX);
  }
});
