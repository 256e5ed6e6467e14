// The turn on DBOS and PostgreSQL. A message starts a workflow, whose input is on disk before
// anything runs. The model calls and the tool are steps, so DBOS stores each result before the next
// one begins; the last step appends the turn to the transcript. Workflows are started directly: a
// queue of DBOS is polled once a second by default and would only make turns slower. Nothing keeps
// two messages of a session from running at once.
import { DBOS } from '@dbos-inc/dbos-sdk';
import pg from 'pg';
import type { FloorMessage } from '../floor/floor-database.ts';
import type { AskFloorModel } from '../floor/floor-model.ts';
import { runTools } from '../floor/floor-worker.ts';
import { servePeer, type PeerParts, type PeerService } from './serve-peer.ts';
import { append, createTranscripts, poolSize, promptOf, readTranscript, seedSessions } from './transcripts.ts';

async function open({ databaseUrl, ask }: PeerParts): Promise<PeerService> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize });
  await createTranscripts(pool);
  const turn = DBOS.registerWorkflow((session: number, text: string) => runTurn(pool, ask, session, text), {
    name: 'turn',
  });
  DBOS.setConfig({
    name: 'peer',
    applicationVersion: '1',
    systemDatabaseUrl: databaseUrl,
    systemDatabasePoolSize: poolSize,
    logLevel: 'warn',
  });
  await DBOS.launch();
  return {
    seed: (count, history) => seedSessions(pool, count, history),
    async runTurn(session, text) {
      const handle = await DBOS.startWorkflow(turn)(session, text);
      return await handle.getResult();
    },
  };
}

/**
 * The workflow: runs again from its beginning after a crash, and then every step that has ended
 * returns its stored result.
 */
async function runTurn(pool: pg.Pool, ask: AskFloorModel, session: number, text: string): Promise<string> {
  // Not stored as the result of a step, because it is in the database already. It does not change
  // before the last step.
  let history: FloorMessage[] | null = null;
  const said: FloorMessage[] = [promptOf(text)];
  for (;;) {
    const { content, wantsTools, lastSeq } = await DBOS.runStep(
      async () => {
        history ??= await readTranscript(pool, session);
        return { ...(await ask([...history, ...said])), lastSeq: history.length };
      },
      { name: 'ask' },
    );
    said.push({ role: 'assistant', content });
    if (!wantsTools) {
      await DBOS.runStep(() => append(pool, session, lastSeq, said), { name: 'append' });
      return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    }
    const results = await DBOS.runStep(() => Promise.resolve(runTools({ content })), { name: 'tools' });
    said.push({ role: 'user', content: results });
  }
}

await servePeer(open);
