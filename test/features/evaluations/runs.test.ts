// Runs of evaluations: what they send, what answers their tool calls, and what becomes of them.
import { describe, expect, test } from 'vitest';
import type { Tool } from '../../../src/tools/tool.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { readModelCalls } from '../../rows/calls.ts';
import { readDeadLetters } from '../../rows/dead-letters.ts';
import { changeBatches, changeBatchItems, readBatches, readBatchItems, removeBatchItems } from '../../rows/batches.ts';
import {
  changeDatasetItems,
  changeEvaluations,
  countEvaluationRuns,
  readEvaluationRuns,
  readEvaluations,
} from '../../rows/evaluations.ts';
import { laneBatchRig } from '../batches/lane-batch-rig.ts';
import { evaluationRig } from './evaluation-rig.ts';

const holder = useApiRig();

let counted = 0;
const count: Tool = {
  spec: { name: 'count', description: 'Counts.', input_schema: { type: 'object' } },
  summary: 'counts',
  isIdempotent: false,
  run: async () => ({ content: String((counted += 1)), isError: false }),
};

const long: Tool = {
  ...count,
  spec: { ...count.spec, name: 'long' },
  run: async () => ({ content: 'A long line of a result. '.repeat(4_000), isError: false }),
};

const leave: Tool = {
  ...count,
  spec: { ...count.spec, name: 'leave' },
  run: async () => ({ content: 'Waiting.', isError: false, endsTurn: true }),
};

const rigOf = () => evaluationRig(holder.rig, [count, long, leave]);

/** The hashes of the requests that turns have sent, in order. */
async function sent(turnId: string | null): Promise<(string | null)[]> {
  const calls = await readModelCalls(holder.rig, { turnId: turnId ?? '' }, 'requestSha256');
  return calls.map((call) => call.requestSha256);
}

describe('an unchanged run sends the bytes of the recorded turn, in its first call and in all later ones (G45)', () => {
  test.each([
    ['without tools', 'Hi. [[reply: one]]', {}],
    [
      'with tools',
      'Go. [[tool: count {"n":1} id=toolu_1]] [[tool: count {"n":1} id=toolu_2]] & [[tool: count {"n":2} id=toolu_3]] [[reply: done]]',
      {},
    ],
    // What a bound has cut is not cut again.
    ['with a long result', 'Go. [[tool: long {} id=toolu_4]] [[reply: done]]', {}],
    [
      'with thinking',
      'Go. [[thinking: So it is.]] [[tool: count {} id=toolu_1]] [[thinking: Yes.]] [[reply: done]]',
      { thinking: 'low' },
    ],
  ])('%s', async (name, text, more) => {
    const rig = rigOf();
    const session = name.replaceAll(' ', '-');
    await rig.record(session, 'Before. [[thinking: Hm.]] [[tool: count {"of":"past"}]] [[reply: before]]', more);
    const turn = await rig.record(session, text, more);
    const before = counted;
    const evaluation = await rig.run(await rig.start(await rig.copies(turn)));
    expect(evaluation).toMatchObject({
      status: 'ended',
      outcome: 'completed',
      detail: null,
      itemCount: 1,
      runCount: 1,
    });
    const [run] = await rig.runs(evaluation.id);
    expect(run).toMatchObject({ status: 'answered', reply: turn.reply, divergence: null, pass: true, score: 1 });
    expect(await sent(run?.turnId ?? '')).toEqual(await sent(turn.id));
    expect(counted).toBe(before);
  });
});

test('a run whose call was not recorded ends there, and says where and how it differs', async () => {
  const rig = rigOf();
  const text =
    'Go. [[tool: count {"n":1}]] [[for: claude-haiku-4-5]] [[tool: count {"n":3}]] [[reply: no]] [[for: others]] [[tool: count {"n":2}]] [[reply: done]]';
  const turn = await rig.record('differs', text);
  const before = counted;
  const candidates = [{ name: 'now' }, { name: 'small', model: 'anthropic/claude-haiku-4-5' }];
  const evaluation = await rig.run(await rig.start(await rig.copies(turn), { candidates, repeats: 2 }));
  const runs = await rig.runs(evaluation.id);
  expect(runs.map(({ candidate, repeat, status, reply }) => ({ candidate, repeat, status, reply }))).toEqual([
    { candidate: 0, repeat: 1, status: 'answered', reply: 'done' },
    { candidate: 0, repeat: 2, status: 'answered', reply: 'done' },
    { candidate: 1, repeat: 1, status: 'diverged', reply: null },
    { candidate: 1, repeat: 2, status: 'diverged', reply: null },
  ]);
  const divergence = { step: 2, kind: 'call', expected: 'count({"n":2})', got: 'count({"n":3})' };
  expect(runs.map((run) => run.divergence)).toEqual([null, null, divergence, divergence]);
  expect(runs.map(({ pass }) => pass)).toEqual([true, true, false, false]);
  expect(counted).toBe(before);
  expect(evaluation.results).toMatchObject([
    { name: 'now', runs: 2, diverged: 0 },
    { name: 'small', runs: 2, diverged: 2 },
  ]);
});

test('a run continues after a call with malformed arguments, and has answered', async () => {
  const rig = rigOf();
  const text =
    'Go. [[for: claude-haiku-4-5]] [[malformed]] [[tool: count {"n":1}]] [[tool: count {"n":2}]] [[reply: done]] [[for: others]] [[tool: count {"n":1}]] [[tool: count {"n":2}]] [[reply: done]]';
  const turn = await rig.record('malformed', text);
  const candidates = [{ name: 'now' }, { name: 'small', model: 'anthropic/claude-haiku-4-5' }];
  const evaluation = await rig.run(await rig.start(await rig.copies(turn), { candidates }));
  const [, run] = await rig.runs(evaluation.id);
  expect(run).toMatchObject({ status: 'answered', reply: 'done', pass: true, divergence: { step: 1, kind: 'call' } });
});

test('a run of a turn that one of its calls has ended ends with that call', async () => {
  const rig = rigOf();
  const turn = await rig.record('leaves', 'Go. [[tool: count {}]] [[tool: leave {}]] [[reply: never]]');
  expect(turn).toMatchObject({ status: 'silent', reply: null });
  const evaluation = await rig.run(await rig.start(await rig.copies(turn), { graders: [{ type: 'tools' }] }));
  const [run] = await rig.runs(evaluation.id);
  expect(run).toMatchObject({ status: 'answered', reply: null, divergence: null, pass: true });
  expect(await sent(run?.turnId ?? '')).toHaveLength(2);
});

test('a call without a recorded result gets the text of the evaluation, and the run continues', async () => {
  const rig = rigOf();
  const text =
    'Go. [[for: claude-haiku-4-5]] [[tool: other {"n":3}]] [[reply: done]] [[for: others]] [[tool: count {"n":2}]] [[reply: done]]';
  const turn = await rig.record('scripted', text);
  const candidates = [{ name: 'now' }, { name: 'small', model: 'anthropic/claude-haiku-4-5' }];
  const unknownCalls = { answer: 'There is nothing.' };
  const evaluation = await rig.run(await rig.start(await rig.copies(turn), { candidates, unknownCalls }));
  const [, run] = await rig.runs(evaluation.id);
  expect(run).toMatchObject({
    status: 'answered',
    reply: 'done',
    pass: true,
    calls: [{ name: 'other', input: { n: 3 } }],
  });
  const { body } = await holder.rig.get(`/v1/sessions/${encodeURIComponent(run?.sessionKey ?? '')}/transcript`);
  expect(JSON.stringify(body)).toContain('There is nothing.');
});

test('a line is asked of its agent as it is now, with its calls and their results', async () => {
  const rig = rigOf();
  const text = 'How many? [[tool: count {"n":7}]] [[reply: seven]]';
  const before = counted;
  const id = await rig.dataset({
    items: [{ input: text, expected: 'seven', calls: [{ name: 'count', input: { n: 7 }, result: 'seven' }] }],
  });
  const candidates = [{ name: 'now' }, { name: 'brief', systemPrompt: 'Be brief.', temperature: 0.5 }];
  const evaluation = await rig.run(
    await rig.start(id, { candidates, graders: [{ type: 'equal' }, { type: 'tools' }] }),
  );
  const runs = await rig.runs(evaluation.id);
  expect(runs.map(({ status, pass }) => ({ status, pass }))).toEqual(
    runs.map(() => ({ status: 'answered', pass: true })),
  );
  expect(runs.map(({ grades }) => (grades as { pass: boolean }[]).map(({ pass }) => pass))).toEqual([
    [true, true],
    [true, true],
  ]);
  expect(counted).toBe(before);
  const { body } = await holder.rig.get(`/v1/turns/${runs[1]?.turnId}/requests/1`);
  expect(body.request).toMatchObject({ temperature: 0.5 });
  expect(JSON.stringify(body.request.system)).toContain('Be brief.');
});

test('a model judges each reply by itself, and each against that of the baseline in both orders', async () => {
  const rig = rigOf();
  const turn = await rig.record('judged', 'Hi. [[reply: one]]');
  const candidates = [{ name: 'now' }, { name: 'small', model: 'anthropic/claude-haiku-4-5' }];
  const judge = { type: 'model' as const, rubric: 'It is polite.', model: 'anthropic/claude-haiku-4-5' };
  const graders = [
    { ...judge, name: 'polite' },
    { type: 'equal' as const },
    { ...judge, name: 'better', mode: 'pair' as const },
  ];
  const evaluation = await rig.run(await rig.start(await rig.copies(turn), { candidates, graders, primary: 'better' }));
  expect(evaluation).toMatchObject({ status: 'ended', outcome: 'completed', runCount: 2, judgementCount: 4 });
  const judgements = (await readEvaluationRuns(holder.rig, { evaluationId: evaluation.id })).filter(
    ({ part }) => part > 0,
  );
  expect(judgements.map(({ candidate, part, status, output }) => ({ candidate, part, status, output }))).toEqual([
    { candidate: 0, part: 1, status: 'answered', output: { reason: '', score: 0 } },
    { candidate: 1, part: 1, status: 'answered', output: { reason: '', score: 0 } },
    { candidate: 1, part: 3, status: 'answered', output: { reason: '', better: 'A' } },
    { candidate: 1, part: 4, status: 'answered', output: { reason: '', better: 'A' } },
  ]);
  const grades = (await rig.runs(evaluation.id)).map((run) => run.grades);
  expect(grades).toMatchObject([
    [
      { name: 'polite', pass: false, score: 0 },
      { name: 'equal', pass: true },
      { name: 'better', score: 0.5, reason: 'It is the baseline.' },
    ],
    [
      { name: 'polite', pass: false, score: 0 },
      { name: 'equal', pass: true },
      { name: 'better', score: 0.5, reason: expect.stringContaining('order') },
    ],
  ]);
  expect((await rig.runs(evaluation.id)).map(({ pass, score }) => ({ pass, score }))).toEqual([
    { pass: null, score: 0.5 },
    { pass: null, score: 0.5 },
  ]);
  const { body } = await holder.rig.get(`/v1/turns/${judgements[0]?.turnId}/requests/1`);
  expect(body.request).toMatchObject({ model: 'claude-haiku-4-5', messages: [{ role: 'user' }] });
  expect(JSON.stringify(body.request.system)).toContain('It is polite.');
  expect(body.request.tools ?? []).toEqual([]);
});

test('an evaluation pauses at its cost cap, and can be resumed with a higher one', async () => {
  const rig = rigOf();
  const turns = [await rig.record('cap-1', 'Hi. [[reply: one]]'), await rig.record('cap-2', 'Hi. [[reply: two]]')];
  const id = await rig.start(await rig.copies(...turns), { costCap: 0.000_001, repeats: 3, concurrency: 1 });
  const paused = await rig.run(id);
  expect(paused.status).toBe('running');
  const [batch] = await readBatches(holder.rig, { id: paused.batchId });
  expect(batch).toMatchObject({ status: 'paused', pauseReason: 'cost_cap', name: `Evaluation ${id}` });
  expect(await countEvaluationRuns(holder.rig, { evaluationId: id })).toBeLessThan(6);
  const raised = await holder.rig.ask('PATCH', `/v1/batches/${paused.batchId}`, { payload: { maxCostUsd: 100 } });
  expect(raised.status).toBe(200);
  expect(await rig.run(id)).toMatchObject({ status: 'ended', outcome: 'completed' });
  expect(await countEvaluationRuns(holder.rig, { evaluationId: id })).toBe(6);
});

test('an evaluation that is cancelled ends with the results of the runs that have ended', async () => {
  const rig = rigOf();
  const turn = await rig.record('cancelled', 'Hi. [[reply: one]]');
  const id = await rig.start(await rig.copies(turn), { repeats: 20, concurrency: 2 });
  while ((await countEvaluationRuns(holder.rig, { evaluationId: id })) === 0) {
    for (const round of [rig.round, rig.batches.round]) await round();
    await rig.batches.workAll();
  }
  const [{ batchId } = { batchId: '' }] = await readEvaluations(holder.rig, { id });
  await holder.rig.post(`/v1/batches/${batchId}/cancel`, {});
  const evaluation = await rig.run(id);
  expect(evaluation).toMatchObject({ status: 'ended', outcome: 'cancelled' });
  const runs = await rig.runs(id);
  expect(runs.length).toBeLessThan(20);
  expect(evaluation.results).toMatchObject([{ name: 'now', runs: runs.length, failed: 0 }]);
});

test('a message that steered the recorded turn steers its run at the same step', async () => {
  const entered = Promise.withResolvers<void>();
  const steered = Promise.withResolvers<void>();
  const wait: Tool = {
    ...count,
    spec: { ...count.spec, name: 'wait' },
    run: async () => {
      entered.resolve();
      await steered.promise;
      return { content: 'waited', isError: false };
    },
  };
  const rig = evaluationRig(holder.rig, [wait]);
  const recording = rig.record('steered', 'Go. [[tool: wait {} id=toolu_1]] [[reply: done]]');
  await entered.promise;
  await holder.rig.post('/v1/sessions/steered/messages', { text: 'Also this. [[reply: both]]', mode: 'steer' });
  steered.resolve();
  const turn = await recording;
  const evaluation = await rig.run(await rig.start(await rig.copies(turn)));
  const [run] = await rig.runs(evaluation.id);
  expect(run).toMatchObject({ status: 'answered', reply: turn.reply, divergence: null });
  expect(await sent(run?.turnId ?? null)).toEqual(await sent(turn.id));
  const { body } = await holder.rig.get(`/v1/turns/${run?.turnId}/requests/2`);
  expect(JSON.stringify(body.request.messages)).toContain('Also this.');
});

test('schedulers that work at the same time make each run once, and each candidate is the first as often as the others', async () => {
  const rig = rigOf();
  const items = Array.from({ length: 150 }, (_, n) => ({
    input: `Case ${n}. [[reply: done ${n}]]`,
    expected: `done ${n}`,
  }));
  const candidates = [{ name: 'now' }, { name: 'brief', systemPrompt: 'Be brief.' }];
  const id = await rig.start(await rig.dataset({ items }), { candidates, repeats: 3, concurrency: 100 });
  await Promise.all(Array.from({ length: 4 }, () => rig.round()));
  await rig.round();
  const [evaluation] = await readEvaluations(holder.rig, { id });
  expect(evaluation).toMatchObject({ status: 'running', itemCount: 150, runCount: 900 });
  const stored = await readBatchItems(holder.rig, { batchId: evaluation!.batchId }, 'n', 'customId');
  expect(stored.map(({ n }) => n)).toEqual(Array.from({ length: 900 }, (_, index) => index + 1));
  expect(stored.slice(0, 7).map(({ customId }) => customId)).toEqual([
    '1-0-1-0',
    '1-1-1-0',
    '1-1-2-0',
    '1-0-2-0',
    '1-0-3-0',
    '1-1-3-0',
    '2-1-1-0',
  ]);
  await holder.rig.post(`/v1/batches/${evaluation!.batchId}/cancel`, {});
  expect(await rig.run(id)).toMatchObject({ outcome: 'cancelled' });
});

test('items are stored on after one that an erasure has emptied', async () => {
  const rig = rigOf();
  const items = [1, 2, 3].map((n) => ({ input: `Case ${n}.` }));
  const id = await rig.start(await rig.dataset({ items }));
  await rig.round();
  const [evaluation] = await readEvaluations(holder.rig, { id });
  const { batchId } = evaluation!;
  // As when the scheduler was killed after its second item, which was erased then.
  await removeBatchItems(holder.rig, { batchId, n: 3 });
  await changeBatchItems(holder.rig, { batchId, n: 2 }, { customId: null, body: {} });
  await changeDatasetItems(holder.rig, { datasetId: evaluation!.datasetId, n: 2 }, { state: 'erased', input: null });
  await changeBatches(holder.rig, { id: batchId }, { status: 'uploading' });
  await changeEvaluations(holder.rig, { id }, { status: 'preparing' });
  await rig.round();
  expect((await readEvaluations(holder.rig, { id }, 'status', 'runCount'))[0]).toEqual({
    status: 'running',
    runCount: 3,
  });
  const stored = await readBatchItems(holder.rig, { batchId }, 'n', 'customId');
  expect(stored.map(({ n, customId }) => [n, customId])).toEqual([
    [1, '1-0-1-0'],
    [2, null],
    [3, '3-0-1-0'],
  ]);
  expect(await rig.run(id)).toMatchObject({ outcome: 'completed', results: [{ runs: 2 }] });
});

test('an evaluation waits until all turns of its data set are copied, and leaves out those that cannot be asked', async () => {
  const rig = rigOf();
  const turns = [
    await rig.record('copied-1', 'Hi. [[reply: one]]'),
    await rig.record('copied-2', 'Hi. [[reply: two]]'),
  ];
  const datasetId = await rig.copies(...turns);
  const id = await rig.start(datasetId);
  await changeDatasetItems(holder.rig, { datasetId, n: 2 }, { state: 'copying' });
  expect(await rig.run(id)).toMatchObject({ status: 'preparing' });
  await changeDatasetItems(holder.rig, { datasetId, n: 2 }, { state: 'excluded', excluded: 'It is gone.' });
  expect(await rig.run(id)).toMatchObject({ outcome: 'completed', itemCount: 1, excluded: 1, runCount: 1 });
  await changeDatasetItems(holder.rig, { datasetId, n: 1 }, { state: 'excluded', excluded: 'It is gone.' });
  await changeDatasetItems(holder.rig, { datasetId, n: 2 }, { state: 'ready' });
  const other = await rig.start(datasetId);
  await changeDatasetItems(holder.rig, { datasetId, n: 2 }, { state: 'excluded' });
  expect(await rig.run(other)).toMatchObject({
    outcome: 'failed',
    detail: 'No item of this part of the data set can be run.',
  });
});

test('runs of an item that is erased meanwhile keep no words, and count for nothing', async () => {
  const rig = rigOf();
  const turns = [
    await rig.record('kept-item', 'Hi. [[reply: one]]'),
    await rig.record('erased-item', 'Hi. [[reply: two]]'),
  ];
  const datasetId = await rig.copies(...turns);
  const id = await rig.start(datasetId);
  await rig.round();
  await changeDatasetItems(
    holder.rig,
    { datasetId, n: 2 },
    { state: 'erased', request: null, steps: '[]', input: null, reply: null, expected: null },
  );
  const evaluation = await rig.run(id);
  expect(evaluation).toMatchObject({ outcome: 'completed', results: [{ runs: 1, failed: 0 }] });
  const [, run] = await rig.runs(id);
  expect(run).toMatchObject({ status: 'failed', reply: null, error: null, calls: [], grades: [], pass: null });
});

test('an evaluation whose batch is deleted before its runs are graded has failed', async () => {
  const rig = rigOf();
  const turn = await rig.record('no-batch', 'Hi. [[reply: one]]');
  const id = await rig.start(await rig.copies(turn));
  for (let at = 0; at < 2; at += 1) await rig.round();
  const [evaluation] = await readEvaluations(holder.rig, { id });
  await rig.batches.run(evaluation!.batchId);
  expect((await holder.rig.ask('DELETE', `/v1/batches/${evaluation!.batchId}`)).status).toBe(200);
  expect(await rig.run(id)).toMatchObject({ outcome: 'failed', detail: expect.stringContaining('was deleted') });
});

test('an evaluation is paused and resumed with its batch', async () => {
  const rig = rigOf();
  const turn = await rig.record('paused', 'Hi. [[reply: one]]');
  const id = await rig.start(await rig.copies(turn), { repeats: 4 });
  for (let at = 0; at < 2; at += 1) await rig.round();
  const [evaluation] = await readEvaluations(holder.rig, { id });
  const path = `/v1/batches/${evaluation!.batchId}`;
  expect((await holder.rig.post(`${path}/pause`, {})).status).toBe(200);
  expect(await rig.run(id)).toMatchObject({ status: 'running' });
  expect(await rig.runs(id)).toEqual([]);
  expect((await holder.rig.post(`${path}/resume`, {})).status).toBe(200);
  expect(await rig.run(id)).toMatchObject({ outcome: 'completed' });
  expect(await rig.runs(id)).toHaveLength(4);
});

test('runs of items without tools go through batches of the provider', async () => {
  const rig = rigOf();
  const lane = laneBatchRig(holder.rig);
  const turn = await rig.record('by-lane', 'Hi. [[reply: one]]');
  const id = await rig.start(await rig.copies(turn), { via: 'provider-batch', repeats: 2 });
  for (let at = 0; at < 2; at += 1) await rig.round();
  const [evaluation] = await readEvaluations(holder.rig, { id });
  await lane.runByLane(evaluation!.batchId);
  expect(await rig.run(id)).toMatchObject({ outcome: 'completed' });
  expect(await rig.runs(id)).toMatchObject([
    { status: 'answered', pass: true },
    { status: 'answered', pass: true },
  ]);
  expect(holder.rig.turns.scripted.batches.records).toHaveLength(1);
});

test('a run that fails has not passed, and one judgement that fails leaves the grade open', async () => {
  const rig = rigOf();
  const text = 'Hi. [[for: claude-haiku-4-5]] [[error: 400 times=always]] [[for: others]] [[reply: one]]';
  const turn = await rig.record('fails', text);
  const candidates = [{ name: 'now' }, { name: 'small', model: 'anthropic/claude-haiku-4-5' }];
  const graders = [{ type: 'equal' as const }, { type: 'model' as const, rubric: 'It is polite.' }];
  const evaluation = await rig.run(await rig.start(await rig.copies(turn), { candidates, graders }));
  const runs = await rig.runs(evaluation.id);
  expect(runs).toMatchObject([
    { status: 'answered', pass: true },
    { status: 'failed', pass: false, reply: null, error: { code: expect.any(String) } },
  ]);
  expect(runs[1]?.grades).toMatchObject([
    { pass: false, score: 0 },
    { name: 'model', pass: false, score: 0 },
  ]);
  expect(evaluation).toMatchObject({ judgementCount: 1, results: [{ failed: 0 }, { failed: 1 }] });
  // An operator has nothing to do about it.
  expect(await readDeadLetters(holder.rig, { turnId: runs[1]?.turnId ?? '' })).toEqual([]);
});
