// An API, a scheduler's rounds and a worker in one process, for tests of batches: rounds and turns
// happen when a test asks for them.
import { createLogger } from '../../../src/logger.ts';
import type { SessionId } from '../../../src/core/ids.ts';
import { runBatchRound } from '../../../src/features/batches/rounds.ts';
import { batchResult } from '../../../src/features/batches/contract.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import type { ApiRig } from '../../api/api-rig.ts';
import { readInputs } from '../../rows/inputs.ts';

const ROUNDS_MAX = 2_000;
const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });

// As the API shows it; each answer was held against its schema.
type ShownBatch = any; // oxlint-disable-line typescript/no-explicit-any

/** Makes it around an API rig. `tools`: those of its worker; absent: those of the rig. */
export function batchRig(rig: ApiRig, tools?: Tool[]) {
  const { service } = rig.context;
  const worker = rig.turns.worker(tools === undefined ? {} : { tools });
  const { signal } = new AbortController();

  const round = (): Promise<boolean> => runBatchRound({ ...service, logger }, signal);

  /** The sessions in which an input of a batch waits, oldest input first. */
  async function waitingSessions(): Promise<SessionId[]> {
    const rows = await readInputs(rig, { kind: 'batch', status: 'waiting' }, 'sessionId');
    return [...new Set(rows.map((row) => row['sessionId'] as SessionId))];
  }

  /** Runs the turns of fed items. */
  async function workAll(): Promise<void> {
    for (const sessionId of await waitingSessions()) await worker.runSession(sessionId);
  }

  return {
    round,
    workAll,
    waitingSessions,
    submit: (body: object, headers: Record<string, string> = {}) => rig.post('/v1/batches', body, headers),
    submitLines: (lines: string | Buffer, query = '', headers: Record<string, string> = {}) =>
      rig.ask('POST', `/v1/batches${query}`, {
        payload: lines,
        headers: { 'content-type': 'application/x-ndjson', ...headers },
      }),
    show: async (id: string) => (await rig.get(`/v1/batches/${id}`)).body,
    results: async (id: string, query = '') =>
      (String((await rig.get(`/v1/batches/${id}/results${query}`)).body) || '')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => {
          const result = JSON.parse(line);
          if (!query.includes('format=openai')) batchResult.parse(result);
          return result;
        }),
    /** Rounds and turns until the batch ends or pauses, or nothing more happens. */
    async run(id: string): Promise<ShownBatch> {
      for (let at = 0; at < ROUNDS_MAX; at += 1) {
        const hasChanged = await round();
        const { body } = await rig.get(`/v1/batches/${id}`);
        if (body.status === 'ended') return body;
        const sessions = await waitingSessions();
        if (!hasChanged && sessions.length === 0) return body;
        await workAll();
      }
      throw new Error(`The batch ${id} did not end in ${ROUNDS_MAX} rounds.`);
    },
  };
}
