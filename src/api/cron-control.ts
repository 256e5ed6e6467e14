// What the routes of crons and heartbeats do: the store's functions, and the rings that follow from them.
import type { Inbox } from '../store/inbox.ts';
import type { Doorbell } from '../../jobs/ring.ts';
import { agentOf, type Config, type Lane } from '../config.ts';
import type { MessageId, SessionId } from '../core/ids.ts';
import { canonicalSessionKey } from '../core/session-key.ts';
import { newId } from '../ids.ts';
import { pollInputOf } from '../schedule/poll-input.ts';
import type { Database } from '../store/database.ts';
import { openManualPoll } from '../store/heartbeats.ts';
import { addCron, editCron, removeCron, runCronNow, type CronBook } from '../store/manage-crons.ts';
import { findCron, readDatabaseTime } from '../store/crons.ts';
import type { NeededRing } from '../store/session-locks.ts';
import { settlePolls } from '../store/settle-polls.ts';
import type { Wake } from '../wake.ts';
import { newSessionOf } from './accept-message.ts';
import type { ScheduleControl } from './context.ts';

interface Parts {
  config: Config;
  database: Database;
  inbox: Pick<Inbox, 'ensureSession'>;
  doorbell: Pick<Doorbell, 'ring'>;
  wake: Wake;
}

/** How long this process may take to put a requested poll into its inbox; afterwards a scheduler does it. */
const POLL_LEASE_MS = 10_000;

/** Makes what the routes are given. */
export function createSchedule({ config, database, inbox, doorbell, wake }: Parts): ScheduleControl {
  const book: CronBook = { config, database, ensureSession: inbox.ensureSession };
  const owner = newId<string>();

  function ring(kind: 'cron' | 'heartbeat', needed: NeededRing | null): void {
    // The store writes only lanes of the configuration.
    if (needed !== null) void doorbell.ring([{ kind, ...needed, lane: needed.lane as Lane }]);
  }

  return {
    async addCron(input, idempotency) {
      const made = await addCron(book, { input, origin: 'api', causeKey: null, idempotency });
      return made.kind === 'full' ? null : made.row;
    },
    findCron: (id) => findCron(database, id),
    editCron: (id, patch) => editCron(book, id, patch),
    removeCron: (id) => removeCron(book, id),
    readTime: () => readDatabaseTime(database),
    async runCron(id, idempotency) {
      const result = await runCronNow(book, id, { causeKey: newId<string>(), idempotency });
      if (result.kind !== 'ran') return result;
      wake.committed(result.sessionId, 'progress');
      ring('cron', result.ring);
      return { kind: 'ran', scheduledFor: result.scheduledFor };
    },
    async poll(agentId, idempotency) {
      const sessionId: SessionId = await book.ensureSession(newSessionOf(canonicalSessionKey(`agent:${agentId}:main`)));
      const id = newId<string>();
      const { lastUrl, nowMs } = await openManualPoll(database, {
        id,
        agentId,
        sessionId,
        owner,
        leaseMs: POLL_LEASE_MS,
        idempotency,
      });
      const { body, route } = pollInputOf(agentOf(config, agentId), {
        occasion: 'manual',
        tasks: [],
        hasMore: true,
        lastUrl,
        nowMs,
      });
      const isOn = config.heartbeat.enabled;
      const [settled] = await settlePolls(database, [
        {
          id,
          owner,
          poll: isOn ? { messageId: newId<MessageId>(), body: JSON.stringify(body), route } : null,
          reason: isOn ? null : 'disabled',
          detail: null,
          gateSha256: null,
          tasks: null,
        },
      ]);
      wake.committed(sessionId, 'progress');
      ring('heartbeat', settled?.ring ?? null);
      return id;
    },
  };
}
