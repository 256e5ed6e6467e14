// The checks of the processes that share the database: what turns wait for, whether there are workers and a scheduler for what there is to do,
// whether a part has stalled, and what holds back live events.
import { wordsOfHealth, type HealthFact, type HealthKind } from '../../features/overview/rules/service-health.ts';
import { inspectService } from '../../features/overview/store/inspect-service.ts';
import { ok, explain, skipped, type Check, type Finding } from './check.ts';

const CHECKS: Readonly<Record<HealthKind, { code: string; title: string; ok: string }>> = {
  model_away: { code: 'provider', title: 'providers of models', ok: 'no turn waits for a provider that is away' },
  model_limited: { code: 'limits', title: 'limits of providers', ok: 'no turn waits for a limit of a provider' },
  budget_reached: { code: 'budgets', title: 'budgets', ok: 'no turn waits for a budget' },
  paused: { code: 'pauses', title: 'pauses', ok: 'nothing is paused' },
  queue_unreachable: { code: 'queue', title: 'queue', ok: 'every process reaches the queue' },
  no_worker: { code: 'workers', title: 'workers', ok: 'every lane with work has a worker' },
  no_scheduler: { code: 'scheduler', title: 'scheduler', ok: 'a scheduler is running, or no work waits for one' },
  reconciler_stalled: { code: 'reconciler', title: 'reconcilers', ok: 'no reconciler has stalled' },
  files_hang: { code: 'files', title: 'file systems', ok: 'no file call hangs' },
  outbox_stalled: { code: 'outbox', title: 'outbox', ok: 'no delivery is overdue' },
  deliveries_failing: { code: 'deliveries', title: 'deliveries', ok: 'no delivery is retried' },
  versions_differ: { code: 'versions', title: 'versions of the processes', ok: 'all processes run the same version' },
  clock_off: { code: 'clocks', title: 'clocks of the processes', ok: 'all clocks agree with the database' },
  events_held: { code: 'transactions', title: 'open transactions', ok: 'no transaction holds back live events' },
};

/** The checks, which share one query of the database. `url` returns null while the database could not be reached. */
export function healthChecks(url: () => string | null): Check[] {
  let inspection: Promise<HealthFact[]> | undefined;
  return Object.entries(CHECKS).map(([kind, { code, title, ok }]) => ({
    code,
    title,
    async run(): Promise<Finding> {
      const reached = url();
      if (reached === null) return skipped('the database could not be reached');
      inspection ??= inspectService(reached);
      try {
        return healthFinding(
          (await inspection).filter((fact) => fact.kind === kind),
          ok,
        );
      } catch (error) {
        return skipped(`the processes could not be read: ${explain(error)}`);
      }
    },
  }));
}

/** The result of a check, from the facts of one kind. */
export function healthFinding(facts: readonly HealthFact[], otherwise: string): Finding {
  const [first] = facts;
  if (first === undefined) return ok(otherwise);
  const { severity, fix } = wordsOfHealth(first);
  return { status: severity, reason: facts.map(formatFact).join('; '), fix };
}

function formatFact(fact: HealthFact): string {
  const { text } = wordsOfHealth(fact);
  return fact.since === null ? text : `${text}, since ${fact.since}`;
}
