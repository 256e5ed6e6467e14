// A worker process that takes jobs and never ends them, for tests that kill it. It prints each
// session that it receives to stdout.
import { openQueueBackend } from '../../../workers/queue/open-queue-backend.ts';
import { startLaneWorker } from '../../../workers/queue/start-lane-worker.ts';

const [databaseUrl = '', redisUrl = ''] = process.argv.slice(2);
const logger = { warn: () => undefined, info: () => undefined };
const backend = await openQueueBackend({ databaseUrl, redisUrl: redisUrl === '' ? undefined : redisUrl, logger });
await startLaneWorker(backend, {
  lane: 'main',
  concurrency: 1,
  process: ({ sessionId }) => {
    process.stdout.write(`${sessionId}\n`);
    return new Promise(() => undefined);
  },
  onEnd: () => undefined,
});
