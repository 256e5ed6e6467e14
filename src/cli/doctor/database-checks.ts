// The checks of the database: whether it answers, how old it is, its layout, its clock, and the
// processes that share it.
import type { Config } from '../../config.ts';
import { EmbeddedPostgresError } from '../../embedded-postgres/embedded-postgres-error.ts';
import { inspectDatabase } from '../../database/inspect-database.ts';
import { CliError } from '../cli-error.ts';
import { explainStartFault } from '../explain-start-fault.ts';
import {
  CLOCK_OFF_MS,
  wordsOfHealth,
  type HealthFact,
  type HealthKind,
} from '../../features/overview/rules/service-health.ts';
import { failure, ok, explain, skipped, warning, type Check, type Finding } from './check.ts';
import { inspectRetention, inspectService } from '../../features/overview/store/inspect-service.ts';

const SERVER_VERSION_MIN = 15;

/**
 * The checks of the configured database, or of the embedded one if it is running. They share the
 * results of the first one.
 */
export function databaseChecks(config: Config): Check[] {
  const seen: { url: string | null; skewMs: number } = { url: null, skewMs: 0 };
  const whenReached = (run: (url: string) => Promise<Finding>) => async (): Promise<Finding> =>
    seen.url === null ? skipped('the database could not be reached') : run(seen.url);
  return [
    {
      code: 'database',
      title: 'database',
      run: async () => {
        const { databaseUrl, dataDir } = config.runtime;
        const url = databaseUrl ?? (await embeddedUrl(dataDir).catch(toFinding));
        if (url !== null && typeof url !== 'string') return url;
        if (url === null) return ok('embedded PostgreSQL, not running; "npx holdfast start" starts it');
        return reach(url, databaseUrl === undefined ? 'embedded PostgreSQL' : 'PostgreSQL', seen);
      },
    },
    { code: 'migrations', title: 'database schema', run: whenReached(migrationsFinding) },
    { code: 'clock', title: 'clock', run: whenReached(async () => skewFinding(seen.skewMs)) },
    ...healthChecks(() => seen.url),
    { code: 'retention', title: 'retention', run: whenReached((url) => retentionFinding(url, config)) },
  ];
}

/** The embedded database says by itself what to do. */
function toFinding(error: unknown): Finding {
  const fix = error instanceof EmbeddedPostgresError ? error.remedy : 'see postgres.log in the data directory';
  return failure(explain(error), fix);
}

async function reach(url: string, name: string, seen: { url: string | null; skewMs: number }): Promise<Finding> {
  try {
    const { version, skewMs, warnings } = await inspectDatabase(url);
    seen.url = url;
    seen.skewMs = skewMs;
    const finding = versionFinding(version, name);
    if (finding.status !== 'ok' || warnings.length === 0) return finding;
    return warning(
      `${finding.reason}; ${warnings.join('; ')}`,
      'turn it on in postgresql.conf, or for this database with "alter database ... set"',
    );
  } catch (error) {
    // A start would end with the same words.
    const fault = explainStartFault(error);
    if (fault instanceof CliError && fault.code !== 'unreachable') return failure(fault.message, fault.fix);
    return failure(
      `${name} cannot be reached: ${explain(error)}`,
      'start it, or correct DATABASE_URL; without DATABASE_URL Holdfast starts its own',
    );
  }
}

/** `number` is PostgreSQL's server_version_num, such as 150004. */
export function versionFinding(number: number, name: string): Finding {
  const major = Math.floor(number / 10_000);
  const reason = `${name} ${major}.${number % 10_000}`;
  if (major >= SERVER_VERSION_MIN) return ok(reason);
  return failure(`${reason} is too old`, `upgrade to PostgreSQL ${SERVER_VERSION_MIN} or newer`);
}

async function migrationsFinding(url: string): Promise<Finding> {
  try {
    const { pendingMigrations } = await import('../../database/migrate.ts');
    const pending = await pendingMigrations(url);
    if (pending.length === 0) return ok('up to date');
    return warning(`missing: ${pending.join(', ')}`, 'run "holdfast migrate" or start the service');
  } catch (error) {
    return failure(explain(error), 'run the version of Holdfast that migrated this database, or a newer one');
  }
}

/** Positive: this machine is ahead. */
export function skewFinding(skewMs: number): Finding {
  const reason = `${Math.abs(Math.round(skewMs))} ms ${skewMs < 0 ? 'slow' : 'fast'}`;
  if (Math.abs(skewMs) <= CLOCK_OFF_MS) return ok(reason);
  return warning(reason, 'synchronise the clocks (NTP): times in logs and prompts are wrong; locks are not affected');
}

/**
 * Where the embedded database of this data directory listens; null when it does not run. Starts
 * nothing.
 */
async function embeddedUrl(dataDir: string): Promise<string | null> {
  const { DATABASE_NAME, readCluster, ROLE_NAME } = await import('../../embedded-postgres/cluster.ts');
  const { isPostmasterAlive, readPostmasterFile } = await import('../../embedded-postgres/postmaster.ts');
  const cluster = await readCluster(dataDir);
  const server = cluster === null ? null : readPostmasterFile(cluster.dir);
  if (cluster === null || server === null || server.port === null || !isPostmasterAlive(server.pid, cluster.dir))
    return null;
  return `postgres://${ROLE_NAME}:${cluster.password}@127.0.0.1:${server.port}/${DATABASE_NAME}`;
}

/** A pass begins every ten minutes, and the largest takes hours. */
export const RETENTION_LATE_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export async function retentionFinding(url: string, { retention }: Pick<Config, 'retention'>): Promise<Finding> {
  try {
    const late = (await inspectRetention(url)).filter(
      ({ setting, lagMs }) => retention[setting] !== undefined && lagMs > RETENTION_LATE_MS,
    );
    if (late.length === 0) return ok('old rows are deleted in time');
    const named = late.map(({ kind, lagMs }) => `${kind} by ${Math.floor(lagMs / HOUR_MS)} h`).join(', ');
    return warning(
      `the deletion of old rows is late: ${named}`,
      'start a process with the role scheduler; if one is running, its log contains the reason ("Deletion of old rows failed")',
    );
  } catch (error) {
    return skipped(`could not be read: ${explain(error)}`);
  }
}

// The checks of the processes that share the database: what turns wait for, whether there are
// workers and a scheduler for what there is to do, whether a part has stalled, and what holds back
// live events.

const CHECKS: Readonly<Record<HealthKind, { code: string; title: string; ok: string }>> = {
  model_away: { code: 'provider', title: 'providers of models', ok: 'no turn waits for a provider that is away' },
  model_wrong_address: {
    code: 'address',
    title: 'addresses of models',
    ok: 'no turn waits for a provider at whose address something else answers',
  },
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
  mcp_lost: { code: 'mcp', title: 'MCP servers', ok: 'every MCP server answers, or none is configured' },
  mcp_unconfined: {
    code: 'mcp-sandbox',
    title: 'sandbox of MCP servers',
    ok: 'every MCP server that is a process runs in the sandbox, or outside as configured',
  },
  calls_unknown: {
    code: 'calls',
    title: 'calls of tools',
    ok: 'no call has an unknown outcome, or it was acknowledged',
  },
  events_held: { code: 'transactions', title: 'open transactions', ok: 'no transaction holds back live events' },
};

/**
 * The checks, which share one query of the database. `url` returns null while the database could
 * not be reached.
 */
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
