// Turns that are recorded, copied into a data set, and run again by an evaluation, in one process:
// rounds and turns happen when a test asks for them.
import type { EvaluationRequest } from '../../../src/features/evaluations/contract.ts';
import { runEvaluationRound } from '../../../src/features/evaluations/rounds.ts';
import { startEvaluation } from '../../../src/features/evaluations/start-evaluation.ts';
import { newId } from '../../../src/ids.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import type { ApiRig, JsonAnswer } from '../../api/api-rig.ts';
import { readInputs } from '../../rows/inputs.ts';
import type { SessionId } from '../../../src/core/ids.ts';
import { readEvaluationRuns, readEvaluations } from '../../rows/evaluations.ts';
import { batchRig } from '../batches/batch-rig.ts';

const ROUNDS_MAX = 500;

/** What a test changes of an ordinary request. */
type Asked = Partial<Omit<EvaluationRequest, 'dataset'>>;

/** Makes it around an API rig. `tools`: those of its workers. */
export function evaluationRig(rig: ApiRig, tools: Tool[] = []) {
  const { service } = rig.context;
  const batches = batchRig(rig, tools);
  const { signal } = new AbortController();

  const round = (): Promise<boolean> => runEvaluationRound(service, signal);

  /** Has a message answered. Returns its turn. */
  async function record(session: string, text: string, more: object = {}): Promise<JsonAnswer['body']> {
    const { body } = await rig.post(`/v1/sessions/${session}/messages`, { text, ...more });
    const worker = rig.turns.worker({ tools });
    await worker.run(session);
    worker.stop();
    const message = (await rig.get(`/v1/messages/${body.message.id}`)).body;
    return (await rig.get(`/v1/turns/${message.turnId}`)).body;
  }

  /** A data set with these items. Returns its id. */
  async function dataset(items: { turns: string[] } | { items: object[] }): Promise<string> {
    const { body } = await rig.post('/v1/datasets', { name: `cases-${newId<string>()}` });
    const added = await rig.post(`/v1/datasets/${body.id}/items`, items);
    if (added.status !== 200) throw new Error(`No items were added: ${JSON.stringify(added.body)}`);
    return body.id;
  }

  async function start(datasetId: string, asked: Asked = {}): Promise<string> {
    const request = {
      dataset: datasetId,
      candidates: [{ name: 'now' }],
      graders: [{ type: 'equal' as const }],
      repeats: 1,
      ...asked,
    };
    const started = await startEvaluation(service, { request, createdBy: 'admin', idempotency: null });
    if (started.kind !== 'started') throw new Error(`Not started: ${JSON.stringify(started)}`);
    return started.id;
  }

  /** Runs the turns that are open, such as those that waited for a budget. */
  async function workOpen(): Promise<void> {
    const open = await readInputs(rig, { kind: 'batch', status: 'claimed' }, 'sessionId');
    const worker = rig.turns.worker({ tools });
    for (const { sessionId } of open) await worker.runSession(sessionId as SessionId);
    worker.stop();
  }

  /** Rounds and turns until the evaluation has ended, or nothing more happens. Returns its row. */
  async function run(id: string) {
    let idle = 0;
    for (let at = 0; at < ROUNDS_MAX; at += 1) {
      const hasChanged = [await round(), await batches.round()].includes(true);
      const [row] = await readEvaluations(rig, { id });
      if (row === undefined || row.status === 'ended') return row!;
      const sessions = await batches.waitingSessions();
      idle = hasChanged || sessions.length > 0 ? 0 : idle + 1;
      if (idle > 1) return row;
      await (idle === 0 ? batches.workAll() : workOpen());
    }
    throw new Error(`The evaluation ${id} did not end in ${ROUNDS_MAX} rounds.`);
  }

  return {
    batches,
    round,
    record,
    dataset,
    start,
    run,
    /** A data set with the copies of these turns. Returns its id. */
    copies: (...turns: { id: string }[]) => dataset({ turns: turns.map(({ id }) => id) }),
    /** What came of the runs, in their order. */
    runs: (evaluationId: string, more: object = {}) => readEvaluationRuns(rig, { evaluationId, part: 0, ...more }),
  };
}
