// Logs faults of the service: one line when a fault begins, and one when it is over. Every process that an operator watches anyway logs them,
// because they concern the service, not one process.
import { formatSubject } from './rules/attention.ts';
import { wordsOfHealth, type HealthFact } from './rules/service-health.ts';
import type { Logger } from '../../logger.ts';
import type { Database } from '../../database/database.ts';
import { readServiceHealth } from './views/service-health.ts';
import { every, startRounds } from '../../kernel/queue/start-rounds.ts';

/** A process is lost 9 s after its last report: with this interval, its loss is logged within 10 s of it, in milliseconds. */
const POLL_MS = 1_000;

/** Checks at intervals; the returned function stops it and resolves after the check in progress. A failed check is followed by the next one. */
export function startTroubleLog(
  database: Database,
  logger: Pick<Logger, 'info' | 'warn'>,
  everyMs = POLL_MS,
): () => Promise<void> {
  let known = new Map<string, HealthFact>();

  async function check(): Promise<boolean> {
    const facts = await readServiceHealth(database.reads);
    const found = new Map(facts.map((fact) => [formatSubject(fact), fact]));
    for (const [key, fact] of found) if (!known.has(key)) logger.warn(pickFacts(fact), 'Service is impaired');
    for (const [key, fact] of known) if (!found.has(key)) logger.info(pickFacts(fact), 'Service is no longer impaired');
    known = found;
    return false;
  }

  return startRounds({
    database,
    round: check,
    failure: 'State of the service could not be read',
    pauseMs: every(everyMs),
  });
}

function pickFacts(fact: HealthFact): object {
  const { text, fix } = wordsOfHealth(fact);
  return { trouble: fact.kind, reason: text, count: fact.count, since: fact.since, fix };
}
