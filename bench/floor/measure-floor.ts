// Measures the floor on a database of its own: under load, alone, and what its model calls alone
// cost without any database.
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { runClosedLoop, type LoadResult } from '../rig/closed-loop.ts';
import { benchToolSpec, historyEntriesUsual, historyOf, turnText } from '../rig/prompts.ts';
import { floorSchema, seedFloorSession, type FloorMessage } from './floor-database.ts';
import { createFloorModel, type AskFloorModel } from './floor-model.ts';
import { runTools, startFloorWorker } from './floor-worker.ts';

export interface FloorLoad {
  sessions: number;
  turnsEach: number;
  text: string;
  spreadMs?: number;
  /** Absent: 20 kB. */
  historyEntries?: number;
}

export interface Floor {
  /** Runs the load on fresh sessions. */
  run(load: FloorLoad): Promise<LoadResult>;
  /**
   * The same two model calls as those of a turn, one turn after the other, without a database:
   * milliseconds per turn.
   */
  runModelAlone(turns: number, historyEntries?: number): Promise<number[]>;
  /** A tool loop to its end, without a database. */
  runLoopAlone(text: string): Promise<void>;
  close(): Promise<void>;
}

const poolSize = 16;
const concurrency = 256;

let sessions = 0;

/** Prepares the floor in an empty database. */
export async function openFloor(databaseUrl: string, modelUrl: string): Promise<Floor> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize });
  // Emitted when the server stops before the pool does; a query that needs the connection fails by
  // itself.
  pool.on('error', () => {});
  await pool.query(floorSchema);
  const ask = createFloorModel(modelUrl, benchToolSpec);
  const worker = startFloorWorker(pool, ask, concurrency);
  return {
    async run({ text, historyEntries = historyEntriesUsual, ...load }) {
      // A claim looks at every lane, so those of earlier runs would slow it down.
      await pool.query('truncate floor.session, floor.lane, floor.message');
      const ids = Array.from({ length: load.sessions }, () => (sessions += 1));
      for (const id of ids) await seedFloorSession(pool, id, historyOf(historyEntries));
      await pool.query('analyze');
      return await runClosedLoop({ ...load, sessions: ids, turn: (id) => worker.send(id, text) });
    },
    async runModelAlone(turns, historyEntries = historyEntriesUsual) {
      const history = historyOf(historyEntries);
      const times: number[] = [];
      for (let turn = 0; turn < turns; turn += 1) {
        const begin = performance.now();
        await runLoop(ask, history, turnText);
        times.push(performance.now() - begin);
      }
      return times;
    },
    runLoopAlone: (text) => runLoop(ask, [], text),
    close: () => pool.end(),
  };
}

async function runLoop(ask: AskFloorModel, history: FloorMessage[], text: string): Promise<void> {
  const messages: FloorMessage[] = [...history, { role: 'user', content: [{ type: 'text', text }] }];
  for (;;) {
    const answer = await ask(messages);
    if (!answer.wantsTools) return;
    messages.push({ role: 'assistant', content: answer.content }, { role: 'user', content: runTools(answer) });
  }
}
