// A provider lane without timers: real turns, a real database and the scripted model's message batches. A test runs the steps of the lane and the turns
// that they wake, in any number of processes.
import { loadConfig, priceBookOf } from '../../src/config.ts';
import { createLogger } from '../../src/logger.ts';
import { newId } from '../../src/ids.ts';
import type { SessionId } from '../../src/core/ids.ts';
import { createAnthropicBatches } from '../../src/model/anthropic-batches.ts';
import type { BatchPort } from '../../src/model/batch-port.ts';
import { leaveLane } from '../../src/store/provider-lane/store-results.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { collectRequests } from '../../workers/provider-lane/collect-requests.ts';
import { followSubmission } from '../../workers/provider-lane/follow-submission.ts';
import type { LaneParts } from '../../workers/provider-lane/lane-parts.ts';
import { createTurnRig } from '../turn/turn-rig.ts';

export type LaneRig = Awaited<ReturnType<typeof createLaneRig>>;

/** The settings of a lane without delays. */
export const QUICK = {
  ...loadConfig({ env: {}, cwd: '/' }).batches,
  windowMs: 0,
  pollMs: { min: 1, max: 5 },
  settleMs: 200,
};

/** Makes the rig; `close` when done. */
export async function createLaneRig(
  databaseUrl: string,
  { batches = {}, ...options }: { tools?: Tool[]; batches?: object; batchDelayMs?: number } = {},
) {
  const settings = { batches: { ...QUICK, ...batches } };
  const turns = await createTurnRig(databaseUrl, { settings, ...options });
  const worker = turns.worker();
  const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
  const port = createAnthropicBatches({ apiKey: 'test', baseUrl: turns.scripted.url });

  /** A lane as if in its own process. */
  function lane(more: Partial<LaneParts> = {}): LaneParts {
    return {
      database: turns.database,
      publish: (result) => result,
      logger,
      config: turns.config,
      port,
      prices: priceBookOf(turns.config),
      owner: newId<string>(),
      leaseMs: 15_000,
      newId: () => newId<string>(),
      random: () => 0.5,
      monotonicMs: () => performance.now(),
      ...more,
    };
  }

  /** Runs every due session; resolves with their number. */
  async function runDue(): Promise<number> {
    const due = await turns.rows(
      `select d.session_id from holdfast.doorbells d join holdfast.sessions s on s.id = d.session_id where d.due_at <= clock_timestamp() and s.owner is null`,
    );
    for (const { session_id: id } of due) await worker.runSession(id as SessionId);
    return due.length;
  }

  /** One round of a lane. */
  async function round(parts: LaneParts): Promise<void> {
    await leaveLane(turns.database);
    await collectRequests(parts);
    await followSubmission(parts);
  }

  /** Rounds and turns until no message waits, or until the bound. */
  async function untilSettled(parts: LaneParts, { roundsMax = 2_000 }: { roundsMax?: number } = {}): Promise<void> {
    for (let rounds = 0; rounds < roundsMax; rounds += 1) {
      await runDue();
      const [open] = await turns.rows(
        `select count(*)::int as n from holdfast.inbox where status in ('waiting', 'claimed')`,
      );
      if (open?.['n'] === 0) return;
      await round(parts);
    }
    throw new Error('Messages still wait after all rounds.');
  }

  /** Rounds until no submission is in flight or unread. */
  async function untilRead(parts: LaneParts): Promise<void> {
    for (let rounds = 0; rounds < 2_000; rounds += 1) {
      const [open] = await turns.rows(
        `select count(*)::int as n from holdfast.provider_batches where status not in ('read', 'lost', 'failed')`,
      );
      if (open?.['n'] === 0) return;
      await round(parts);
    }
    throw new Error('Submissions are still open after all rounds.');
  }

  const submissions = () =>
    turns.rows(
      'select id, status, provider_id, is_adopted, request_count, wasted, disproved_ids from holdfast.provider_batches order by created_at',
    );

  return { ...turns, worker, port, lane, round, runDue, untilSettled, untilRead, submissions };
}

/** A port that loses the answers of this many submissions, which reach the provider. */
export function losingAnswers(port: BatchPort, times: number): BatchPort {
  let left = times;
  return {
    ...port,
    async submit(submission) {
      const outcome = await port.submit(submission);
      if (left === 0) return outcome;
      left -= 1;
      return { kind: 'unknown', message: 'The answer was lost.' };
    },
  };
}
