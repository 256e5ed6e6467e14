// The turn on BullMQ, Redis and PostgreSQL. A message is stored and becomes a job; the worker
// appends each answer and each tool result to the transcript in a transaction of its own. A job
// that is tried again continues after the last stored message. Nothing keeps two messages of a
// session from running at once, and a crash between the message and its job loses the job.
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { FloorMessage } from '../floor/floor-database.ts';
import type { AskFloorModel, FloorBlock } from '../floor/floor-model.ts';
import { runTools } from '../floor/floor-worker.ts';
import { servePeer, type PeerParts, type PeerService } from './serve-peer.ts';
import {
  append,
  appendPrompt,
  createTranscripts,
  poolSize,
  promptOf,
  readTranscript,
  seedSessions,
} from './transcripts.ts';

/** Concurrent turns, as many as in Holdfast. */
const concurrency = 256;
const queueName = 'turns';

interface Turn {
  session: number;
}

async function open({ databaseUrl, redisUrl, ask }: PeerParts): Promise<PeerService> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize });
  await createTranscripts(pool);
  const queue = new Queue<Turn, string>(queueName, {
    connection: new Redis(redisUrl),
    defaultJobOptions: {
      attempts: 3,
      backoff: { type: 'exponential', delay: 1_000 },
      removeOnComplete: true,
      removeOnFail: { count: 1_000 },
    },
  });
  const worker = new Worker<Turn, string>(queueName, ({ data }) => runTurn(pool, ask, data.session), {
    // A worker waits for Redis without a limit, as BullMQ's manual says.
    connection: new Redis(redisUrl, { maxRetriesPerRequest: null }),
    concurrency,
  });
  const waiting = new Map<string, PromiseWithResolvers<string>>();
  // Requests and jobs are in one process, so its own events are enough and no stream of Redis is
  // read.
  worker.on('completed', ({ id = '' }, reply) => settle(id).resolve(reply));
  worker.on('failed', (job, error) => settle(job?.id ?? '').reject(error));
  worker.on('error', (error) => console.error(error));
  await worker.waitUntilReady();

  function settle(id: string): PromiseWithResolvers<string> {
    const settled = waiting.get(id) ?? Promise.withResolvers<string>();
    waiting.delete(id);
    return settled;
  }

  return {
    seed: (count, history) => seedSessions(pool, count, history),
    async runTurn(session, text) {
      await appendPrompt(pool, session, promptOf(text));
      const jobId = crypto.randomUUID();
      const settled = Promise.withResolvers<string>();
      waiting.set(jobId, settled);
      await queue.add('turn', { session }, { jobId });
      return await settled.promise;
    },
  };
}

async function runTurn(pool: pg.Pool, ask: AskFloorModel, session: number): Promise<string> {
  const messages = await readTranscript(pool, session);
  const add = async (message: FloorMessage): Promise<void> => {
    await append(pool, session, messages.length, [message]);
    messages.push(message);
  };
  for (;;) {
    const last = messages.at(-1);
    if (last?.role !== 'assistant') {
      const { content } = await ask(messages);
      await add({ role: 'assistant', content });
      continue;
    }
    // The transcript has the answers as the model gave them.
    const said = last.content as FloorBlock[];
    const results = runTools({ content: said });
    if (results.length === 0) return textOf(said);
    await add({ role: 'user', content: results });
  }
}

function textOf(content: FloorBlock[]): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

await servePeer(open);
