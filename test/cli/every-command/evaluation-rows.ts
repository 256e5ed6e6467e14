// Commands of data sets and evaluations.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandRow } from './command-row.ts';
import type { Names, Scene } from './scene.ts';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/;
/** The file says its name, so each run has its own data set. */
const CASES = '{"input": "Is it paid? [[reply: yes]]", "expected": "yes"}\n';

export const EVALUATION_ROWS: readonly CommandRow[] = [
  {
    line: 'datasets create {name} --held-back 20',
    make: (scene) => Promise.resolve({ name: scene.fresh('created') }),
    shows: [UUID],
    json: { id: UUID, name: '{name}', version: 0, heldBackPercent: 20 },
  },
  {
    line: 'datasets add {dataset} --turns {turn}',
    make: async (scene) => ({ ...(await scene.dataset('added')), ...(await scene.talked('copied')) }),
    shows: ['1 item added; version 2'],
    json: { added: 1, version: 2 },
  },
  {
    line: 'datasets list --limit 200',
    make: (scene) => scene.dataset('listed'),
    shows: [/^NAME +VERSION/m, '{dataset}'],
    json: { items: [{ name: '{dataset}', version: 1, counts: { ready: 1 } }] },
  },
  {
    line: 'datasets show {dataset}',
    make: (scene) => scene.dataset('shown'),
    shows: [/items +1, 1 ready/],
    json: { name: '{dataset}', version: 1 },
  },
  {
    line: 'datasets items {dataset}',
    make: (scene) => scene.dataset('items'),
    shows: [/^1 +ready +work +Is it paid/m],
    json: { items: [{ n: 1, state: 'ready', expected: 'yes' }] },
  },
  {
    line: 'datasets delete {dataset} --yes',
    make: (scene) => scene.dataset('deleted'),
    shows: ['the data set {dataset} is deleted'],
    json: { deleted: true },
  },
  {
    line: 'eval run {file} --fail-under 1',
    make: async (scene) => ({ file: await evaluationFile(scene, 'passes') }),
    shows: [/^now +100 %/m],
    notes: ['uploaded 1 case'],
    json: { status: 'ended', outcome: 'completed', counts: { runs: 3 } },
    isDrawing: true,
  },
  {
    line: 'eval show {evaluation}',
    make: (scene) => scene.evaluation('read'),
    shows: ['{evaluation}', /status +ended: completed/, /^now +100 %/m],
    json: { id: '{evaluation}', outcome: 'completed' },
  },
  {
    line: 'eval list --limit 200',
    make: (scene) => scene.evaluation('found'),
    shows: ['{evaluation}', 'completed'],
    json: { items: [{ id: '{evaluation}' }] },
  },
  {
    line: 'eval pause {evaluation}',
    make: (scene) => scene.runningEvaluation('held'),
    shows: ['{evaluation}  paused  0/1'],
    json: { id: '{evaluation}', status: 'paused' },
  },
  {
    line: 'eval resume {evaluation}',
    make: async (scene) => {
      const made = await scene.runningEvaluation('resumed');
      await scene.ask('POST', `/v1/evaluations/${made.evaluation}/pause`);
      return made;
    },
    shows: ['{evaluation}  running  0/1'],
    json: { id: '{evaluation}', status: 'running' },
  },
  {
    line: 'eval cancel {evaluation}',
    make: (scene) => scene.runningEvaluation('stopped'),
    shows: ['{evaluation}'],
    json: { id: '{evaluation}' },
  },
  {
    line: 'eval delete {evaluation}',
    make: (scene) => scene.evaluation('removed'),
    shows: ['the evaluation {evaluation} is deleted'],
    json: { deleted: true },
  },
];

/** An evaluation of cases that stand beside it. */
async function evaluationFile({ rig, fresh }: Scene, name: string): Promise<NonNullable<Names['file']>> {
  const dataset = fresh(name);
  await writeFile(join(rig.dataDir, `${dataset}.jsonl`), CASES);
  const file = join(rig.dataDir, `${dataset}.json5`);
  await writeFile(
    file,
    `{ dataset: { name: '${dataset}', file: '${dataset}.jsonl' }, candidates: [{ name: 'now' }], graders: [{ type: 'equal' }] }`,
  );
  return file;
}
