// Logs faults of the service: one line when a fault begins, and one when it is over. Every process
// that an operator watches anyway logs them, because they concern the service, not one process.
import { formatSubject } from './rules/attention.ts';
import { wordsOfHealth, type HealthFact } from './rules/service-health.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { HEALTH_FACTS_SQL, readServiceHealth } from './views/service-health.ts';
import { every } from '../../kernel/queue/start-rounds.ts';

/**
 * A process is lost 9 s after its last report: with this interval, its loss is logged within 10 s
 * of it, in milliseconds.
 */
const POLL_MS = 1_000;

/** Opens it. */
export function openTroubleLog({ service: { database }, logger }: Pick<Process, 'service' | 'logger'>): ProcessPart {
  let known = new Map<string, HealthFact>();

  async function check(): Promise<void> {
    const facts = await readServiceHealth(database.reads);
    const found = new Map(facts.map((fact) => [formatSubject(fact), fact]));
    for (const [key, fact] of found) if (!known.has(key)) logger.warn(pickFacts(fact), 'Service is impaired');
    for (const [key, fact] of known) if (!found.has(key)) logger.info(pickFacts(fact), 'Service is no longer impaired');
    known = found;
  }

  // What is known may be over.
  const work = {
    sql: `$isKnown::boolean or exists (select from (${HEALTH_FACTS_SQL}) as facts)`,
    values: () => ({ isKnown: known.size > 0 }),
  };
  return {
    rounds: [{ work, round: check, failure: 'State of the service could not be read', pauseMs: every(POLL_MS) }],
  };
}

function pickFacts(fact: HealthFact): object {
  const { text, fix } = wordsOfHealth(fact);
  return { trouble: fact.kind, reason: text, count: fact.count, since: fact.since, fix };
}
