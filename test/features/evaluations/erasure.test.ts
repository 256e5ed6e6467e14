// Goal: what was said in a session that is erased is in no data set and in no run of an evaluation.
// Method: the words of a conversation are in no other, and are searched for in every column of every
// table.
import { expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { tablesWith as findWord } from '../../api/tables-with.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { addBatches, addBatchItems } from '../../rows/batches.ts';
import {
  addEvaluationRuns,
  addEvaluations,
  readDatasetItems,
  readEvaluationRuns,
  readEvaluations,
} from '../../rows/evaluations.ts';
import { countSessions } from '../../rows/sessions.ts';
import { evaluationRig } from './evaluation-rig.ts';
import { datasetRig } from './dataset-rig.ts';

const holder = useApiRig();
const sets = () => datasetRig(holder.rig);
const tablesWith = (text: string): Promise<Record<string, number>> => findWord(holder.rig.rows, text);
const erase = (path: string) => holder.rig.ask('DELETE', path);

/** An ended evaluation of a data set; the run of each item has a turn in a session of its own. */
async function evaluate(name: string, replies: readonly string[]): Promise<string> {
  const { rig } = holder;
  const { id: datasetId } = await sets().show(name);
  const [id, batchId] = [newId<string>(), newId<string>()];
  await addBatches(rig, { id: batchId, status: 'ended', outcome: 'completed', itemCount: replies.length });
  await addEvaluations(rig, { id, datasetId, batchId, status: 'ended', spec: {} });
  for (const [at, reply] of replies.entries()) {
    const sessionKey = `agent:main:try:${id}-${at + 1}-0-1`;
    await rig.turns.send(sessionKey, `[[reply: ${reply}]]`);
    await rig.work(sessionKey);
    // This one was cancelled before it was fed, so it has no session.
    const item = { batchId, status: 'cancelled', body: { text: reply }, isOwnSession: false, isReady: true };
    await addBatchItems(rig, { ...item, n: at + 1, sessionKey: `agent:main:try:${id}-${at + 1}-1-1` });
    await addEvaluationRuns(rig, {
      evaluationId: id,
      n: at + 1,
      candidate: 0,
      sessionKey,
      reply,
      output: { said: reply },
      calls: [{ name: 'say', input: { text: reply } }],
      divergence: { step: 1, kind: 'call', expected: reply, got: reply },
      error: { code: 'x', message: reply },
      grades: [{ name: 'equal', pass: true, score: 1, reason: reply }],
      pass: true,
      score: 1,
    });
  }
  return id;
}

test('an erased session leaves empty items, empty runs and no session of a run', async () => {
  const { rig } = holder;
  const said = 'Osprey. [[tool: echo {"say":"osprey"}]] [[reply: an osprey]]';
  const mine = await rig.turnOf('crm-1', said, { tags: { bird: 'osprey' } });
  const other = await rig.turnOf('crm-2', 'Grebe. [[reply: a grebe]]');
  const name = await sets().make();
  await sets().add(name, { turns: [mine.id, other.id] });
  await sets().add(name, { items: [{ input: 'Dunlin?', group: 'agent:main:crm-1' }] });
  const id = await evaluate(name, ['osprey said', 'grebe said', 'dunlin said']);
  const planned = await erase('/v1/sessions/crm-1?dryRun=true');
  expect(planned.body.removed).toMatchObject({ dataset_items: 2, sessions: 3 });
  expect((await erase('/v1/sessions/crm-1')).body.removed).toMatchObject({
    dataset_items: 2,
    batch_items: 2,
    sessions: 3,
    turns: 3,
  });
  for (const word of ['osprey', 'dunlin']) expect(await tablesWith(word)).toEqual({});
  expect(await sets().items(name)).toEqual([
    {
      n: 1,
      version: 1,
      state: 'erased',
      excluded: null,
      split: 'work',
      turnId: null,
      sessionKey: null,
      agentId: 'main',
      input: null,
      expected: null,
      reply: null,
      model: `${mine.provider}/${mine.model}`,
      calls: 0,
      tags: {},
      metadata: {},
      costUsd: mine.costUsd,
    },
    expect.objectContaining({ n: 2, state: 'ready', reply: 'a grebe' }),
    expect.objectContaining({ n: 3, version: 2, state: 'erased', input: null }),
  ]);
  expect(await sets().show(name)).toMatchObject({ version: 2, counts: { items: 3, ready: 1, erased: 2 } });
  const runs = await readEvaluationRuns(rig, { evaluationId: id }, 'n', 'pass', 'score', 'reply', 'grades');
  expect(runs).toEqual([
    { n: 1, pass: true, score: 1, reply: null, grades: [] },
    { n: 2, pass: true, score: 1, reply: 'grebe said', grades: [expect.objectContaining({ reason: 'grebe said' })] },
    { n: 3, pass: true, score: 1, reply: null, grades: [] },
  ]);
  expect(await countSessions(rig, { key: `agent:main:try:${id}-2-0-1` })).toBe(1);
  expect((await erase('/v1/sessions/crm-1')).body.removed).toEqual({});
});

test('a session that is erased takes the items of its subagents with it', async () => {
  const { rig } = holder;
  await rig.turnOf('parent', 'Plover.');
  const { childSessionKey } = (await rig.post('/v1/sessions/parent/spawn', { task: 'Find the plover.' })).body;
  await rig.work(childSessionKey);
  const name = await sets().make();
  await sets().add(name, { filter: { session: childSessionKey } });
  expect(await sets().items(name)).toMatchObject([{ state: 'ready', sessionKey: childSessionKey }]);
  expect((await erase('/v1/sessions/parent')).body.removed).toMatchObject({ dataset_items: 1 });
  expect(await tablesWith('plover')).toEqual({});
  const { id } = await sets().show(name);
  expect(await readDatasetItems(rig, { datasetId: id }, 'state', 'groupKey')).toEqual([
    { state: 'erased', groupKey: 'erased:1' },
  ]);
});

test('an item whose subagent alone is erased stays in the group of its conversation', async () => {
  const { rig } = holder;
  await rig.turnOf('whole', 'Hello.');
  const { childSessionKey } = (await rig.post('/v1/sessions/whole/spawn', { task: 'Find the whimbrel.' })).body;
  await rig.work(childSessionKey);
  const name = await sets().make();
  await sets().add(name, { filter: { session: childSessionKey } });
  await erase(`/v1/sessions/${encodeURIComponent(childSessionKey)}`);
  const { id } = await sets().show(name);
  const groups = () => readDatasetItems(rig, { datasetId: id }, 'state', 'groupKey');
  expect(await groups()).toEqual([{ state: 'erased', groupKey: 'agent:main:whole' }]);
  await erase('/v1/sessions/whole');
  expect(await groups()).toEqual([{ state: 'erased', groupKey: 'erased:1' }]);
});

test('a person who is erased is in no data set', async () => {
  const { rig } = holder;
  const turn = await rig.turnOf('crm-ada', 'Avocet.', { sender: { id: 'ada', name: 'Ada Avocet' } });
  const { name } = await sets().copyOf(turn.id);
  const id = await evaluate(name, ['avocet said']);
  const { body } = await erase('/v1/subjects/ada');
  expect(body.sessions).toMatchObject([{ key: 'agent:main:crm-ada', removed: { dataset_items: 1 } }]);
  expect(await tablesWith('avocet')).toEqual({});
  expect(await readEvaluationRuns(rig, { evaluationId: id }, 'reply')).toEqual([{ reply: null }]);
});

test('a session is not erased while an evaluation runs an item of it', async () => {
  const rig = evaluationRig(holder.rig);
  const id = await rig.start(await rig.copies(await rig.record('busy', 'Curlew.')));
  await rig.round();
  const [evaluation] = await readEvaluations(holder.rig, { id }, 'status', 'batchId');
  expect(evaluation?.status).toBe('running');
  expect(await erase('/v1/sessions/busy')).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining(`the batch ${evaluation?.batchId}`) },
  });
  expect(await rig.run(id)).toMatchObject({ outcome: 'completed' });
  expect((await erase('/v1/sessions/busy')).status).toBe(200);
  expect(await tablesWith('curlew')).toEqual({});
});

test('an evaluation with judgements, whose session is erased when it has ended, keeps its numbers alone', async () => {
  const rig = evaluationRig(holder.rig);
  await rig.record('crm-3', 'Sandpiper. [[reply: a sandpiper]]');
  const turn = await rig.record('crm-3', 'Sanderling? [[tool: echo {"say":"sanderling"}]] [[reply: a sanderling]]');
  const graders = [{ type: 'equal' as const }, { type: 'model' as const, rubric: 'It is right.' }];
  const { id, status } = await rig.run(await rig.start(await rig.copies(turn), { graders, repeats: 2 }));
  expect(status).toBe('ended');
  expect(Object.keys(await tablesWith('sandpiper'))).toEqual(expect.arrayContaining(['dataset_items', 'snapshots']));
  expect((await erase('/v1/sessions/crm-3')).status).toBe(200);
  for (const word of ['sandpiper', 'sanderling']) expect(await tablesWith(word)).toEqual({});
  expect((await rig.runs(id)).map(({ pass, reply }) => ({ pass, reply }))).toEqual([
    { pass: true, reply: null },
    { pass: true, reply: null },
  ]);
});

test('an evaluation ends without an item that is erased after its runs', async () => {
  const rig = evaluationRig(holder.rig);
  const [mine, other] = [await rig.record('crm-4', 'Ruff. [[reply: a ruff]]'), await rig.record('crm-5', 'Knot.')];
  const id = await rig.start(await rig.copies(mine, other), { concurrency: 1 });
  for (let at = 0; at < 20; at += 1) {
    await Promise.all([rig.round(), rig.batches.round()]);
    if ((await rig.batches.waitingSessions()).length > 0) break;
  }
  await rig.batches.workAll();
  await rig.batches.round();
  expect((await erase('/v1/sessions/crm-4')).status).toBe(200);
  expect(await rig.run(id)).toMatchObject({ status: 'ended', outcome: 'completed' });
  expect((await rig.runs(id)).map(({ n, reply }) => ({ n, reply }))).toEqual([{ n: 2, reply: other.reply }]);
  expect(await tablesWith('a ruff')).toEqual({});
});
