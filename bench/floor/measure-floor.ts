// Measures the floor on a database of its own: under load, alone, and what its model calls alone cost without any database.
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { runClosedLoop, type LoadResult } from '../rig/closed-loop.ts';
import { benchTool, historyOf, turnText } from '../rig/prompts.ts';
import { floorSchema, seedFloorSession, type FloorMessage } from './floor-database.ts';
import { createFloorModel, type AskFloorModel } from './floor-model.ts';
import { startFloorWorker } from './floor-worker.ts';

export interface FloorLoad {
  sessions: number;
  turnsEach: number;
  text: string;
  spreadMs?: number;
}

export interface Floor {
  /** Runs the load on fresh sessions with 20 kB of history each. */
  run(load: FloorLoad): Promise<LoadResult>;
  /** The same two model calls as those of a turn, one turn after the other, without a database: milliseconds per turn. */
  runModelAlone(turns: number): Promise<number[]>;
  close(): Promise<void>;
}

const poolSize = 16;
const concurrency = 200;
const historyEntries = 50;

/** Prepares the floor in an empty database. */
export async function openFloor(databaseUrl: string, modelUrl: string): Promise<Floor> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize });
  await pool.query(floorSchema);
  const ask = createFloorModel(modelUrl, {
    name: benchTool,
    description: 'Says how the session is.',
    input_schema: { type: 'object' },
  });
  const worker = startFloorWorker(pool, ask, concurrency);
  const history = historyOf(historyEntries);
  let sessions = 0;
  return {
    async run({ text, ...load }) {
      const ids = Array.from({ length: load.sessions }, () => (sessions += 1));
      for (const id of ids) await seedFloorSession(pool, id, history);
      await pool.query('analyze');
      return await runClosedLoop({ ...load, sessions: ids, turn: (id) => worker.send(id, text) });
    },
    async runModelAlone(turns) {
      const times: number[] = [];
      for (let turn = 0; turn < turns; turn += 1) times.push(await timeModelCalls(ask, history));
      return times;
    },
    close: () => pool.end(),
  };
}

async function timeModelCalls(ask: AskFloorModel, history: FloorMessage[]): Promise<number> {
  const begin = performance.now();
  const messages = [...history, { role: 'user' as const, content: [{ type: 'text', text: turnText }] }];
  const answer = await ask(messages);
  const results = answer.content
    .filter((block) => block.type === 'tool_use')
    .map((block) => ({ type: 'tool_result', tool_use_id: block.id, content: 'Session is running.' }));
  await ask([...messages, { role: 'assistant', content: answer.content }, { role: 'user', content: results }]);
  return performance.now() - begin;
}
