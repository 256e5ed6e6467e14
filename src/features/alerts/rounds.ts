// The round of alerts, also in the API, which can so say that no scheduler runs: what needs
// attention is compared with what each destination was sent, and calls that are due are sent.
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import { deliveryDelayMs } from '../../kernel/rules/backoff.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { retryPassingFaults } from '../../database/passing-faults.ts';
import type { Logger } from '../../logger.ts';
import { judgeTroubles, readTroubles } from '../overview/read-overview.ts';
import { listCutKinds } from '../overview/views/attention.ts';
import { judgeAttempt } from './rules.ts';
import { claimCalls, readTimeIfDue, settleCall, type ClaimedCall, type Reading } from './calls.ts';
import { withOutbox, type Outbox } from './chats.ts';
import { answerOf, sendCall } from './destinations.ts';

const ROUND_MS = 5_000;

/** A lease outlives the attempt that it covers by this much, in milliseconds. */
const LEASE_MARGIN_MS = 10_000;

type Alerting = Pick<Process, 'logger'> & { service: Service };

export function openAlerts({ service, logger }: Process): ProcessPart {
  return {
    rounds: [
      {
        work: { sql: 'exists (select from holdfast.alert_destinations d where d.due_at <= statement_timestamp())' },
        round: (signal) => runAlertRound({ service, logger }, signal),
        pauseMs: every(ROUND_MS),
        failure: 'Alerts could not be sent; the next round retries',
      },
    ],
  };
}

/**
 * One round. What concerns only the process that asks, such as its own connection to the queue, is
 * not part of it.
 */
export async function runAlertRound({ service, logger }: Alerting, signal: AbortSignal): Promise<void> {
  const reading = await readProblems(service);
  if (reading === null) return;
  const leaseMs = service.config.channels.webhook.timeoutMs + LEASE_MARGIN_MS;
  const claim = async (outbox: Outbox | null) =>
    service.publish(await claimCalls(service.database, reading, { leaseMs, outbox }));
  const claimWebhooks = (error: unknown) => {
    logger.warn({ err: error }, 'Alerts could not be put into the outbox for chats; the next round retries');
    return claim(null);
  };
  // The outbox can be out of reach, and one chat must not keep a webhook from what it is sent.
  const { claimed } = await (reading.hasChats ? withOutbox(service, claim).catch(claimWebhooks) : claim(null));
  await Promise.all(claimed.map((call) => sendClaimed(service, call, { logger, signal, leaseMs })));
}

/** Reads what needs attention; null: no destination may be sent anything now. */
export async function readProblems(service: Service): Promise<Reading | null> {
  const time = await readTimeIfDue(service.database);
  if (time === null) return null;
  const seen = { reads: service.reads, service };
  const troubles = await readTroubles(seen, Promise.resolve({ dependencies: [] }));
  const { items, explained } = await judgeTroubles(seen, troubles);
  return { problems: items, explained, cutKinds: listCutKinds([...items, ...explained]), ...time };
}

/**
 * Sends a call that this process has claimed. An attempt that a drain breaks off has no end; it is
 * made again when its lease is over.
 */
async function sendClaimed(
  { database, config }: Service,
  call: ClaimedCall,
  { logger, signal, leaseMs }: { logger: Logger; signal: AbortSignal; leaseMs: number },
): Promise<void> {
  const result = await sendCall(config, call, signal);
  if (signal.aborted && result.kind !== 'sent') return;
  const { attempts } = call;
  const retryAfterMs = result.kind === 'later' ? result.retryAfterMs : null;
  const delayMs = deliveryDelayMs({ attempts, random: Math.random(), retryAfterMs });
  const isSent = result.kind === 'sent';
  const judged = judgeAttempt(isSent, { attempts, delayMs });
  const answer = answerOf(result);
  // An acknowledged call whose end could not be stored is sent again when its lease is over: until
  // then the write is retried.
  await retryPassingFaults(() => settleCall(database, call, { ...judged, isSent, ...answer }), leaseMs);
  const facts = { destination: call.name, alertId: call.callId, attempts, httpStatus: answer.status };
  if (judged.isOver && !isSent)
    logger.warn({ ...facts, reason: answer.error, restMs: judged.waitMs }, 'Alert failed; its destination rests');
  else logger.debug(facts, 'Alert attempted');
}
