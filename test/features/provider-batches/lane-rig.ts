// A provider lane without timers: real turns, a real database and the scripted model's message
// batches. A test runs the steps of the lane and the turns that they wake, in any number of
// processes.
import { loadConfig, priceBookOf } from '../../../src/config.ts';
import { systemClock } from '../../../src/clock.ts';
import { createLogger } from '../../../src/logger.ts';
import { newId } from '../../../src/ids.ts';
import { createAnthropicBatches } from '../../../src/features/provider-batches/anthropic-batches.ts';
import type { BatchPort } from '../../../src/features/provider-batches/batch-port.ts';
import { leaveLane } from '../../../src/features/provider-batches/store/store-results.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { collectRequests } from '../../../src/features/provider-batches/collect-requests.ts';
import { followSubmission } from '../../../src/features/provider-batches/follow-submission.ts';
import type { LaneParts } from '../../../src/features/provider-batches/lane-parts.ts';
import { readDueSessions } from '../../rows/doorbells.ts';
import { countInputs } from '../../rows/inputs.ts';
import { readProviderBatches } from '../../rows/provider-batches.ts';
import { createTurnRig, type TurnRig } from '../../turn/turn-rig.ts';

export type LaneRig = Awaited<ReturnType<typeof createLaneRig>>;

/** The settings of a lane without delays. */
export const QUICK = {
  ...loadConfig({ env: {}, cwd: '/' }).batches,
  windowMs: 0,
  pollMs: { min: 1, max: 5 },
  settleMs: 200,
};

/** A lane as if in its own process. */
export function laneParts(
  { database, config, scripted }: Pick<TurnRig, 'database' | 'config' | 'scripted'>,
  more: Partial<LaneParts> = {},
): LaneParts {
  return {
    database,
    publish: (result) => result,
    logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
    config,
    port: createAnthropicBatches({ apiKey: 'test', baseUrl: scripted.url }),
    prices: priceBookOf(config),
    owner: newId<string>(),
    leaseMs: 15_000,
    clock: systemClock,
    ...more,
  };
}

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

  const lane = (more: Partial<LaneParts> = {}): LaneParts => laneParts(turns, { logger, port, ...more });

  /** Runs every due session; resolves with their number. */
  async function runDue(): Promise<number> {
    const due = await readDueSessions(turns);
    for (const id of due) await worker.runSession(id);
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
      if ((await countInputs(turns, { status: ['waiting', 'claimed'] })) === 0) return;
      await round(parts);
    }
    throw new Error('Messages still wait after all rounds.');
  }

  /** Rounds until no submission is in flight or unread. */
  async function untilRead(parts: LaneParts): Promise<void> {
    for (let rounds = 0; rounds < 2_000; rounds += 1) {
      const all = await readProviderBatches(turns, {}, 'status');
      if (all.every(({ status }) => ['read', 'lost', 'failed'].includes(status))) return;
      await round(parts);
    }
    throw new Error('Submissions are still open after all rounds.');
  }

  const submissions = () =>
    readProviderBatches(turns, {}, 'id', 'status', 'providerId', 'isAdopted', 'requestCount', 'wasted', 'disprovedIds');

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
