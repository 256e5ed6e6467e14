// Readiness: all dependencies are checked in parallel, for a bounded time, and the answer says how long each took. A fault is
// named by its code only, because a message may contain an address or a password (G31).
import type { Readiness } from '../contract/answers.ts';
import type { HealthKind } from '../core/service-health.ts';
import { withDeadline } from '../deadline.ts';
import { readServiceHealth } from '../store/views/service-health.ts';
import { pingDatabase } from '../store/views/stats.ts';
import type { ApiContext, Dependency } from './context.ts';

const CHECK_MS_MAX = 2_000;
const late = (): Error => new DOMException(`no answer within ${CHECK_MS_MAX} ms`, 'TimeoutError');

/** Makes the check of readiness: it asks the database and all other dependencies, and never rejects. */
export function createReadinessCheck(context: ApiContext): () => Promise<Readiness> {
  const { outages, views } = context;
  const database: Dependency = { name: 'database', outages, check: () => pingDatabase(views) };
  const asked = [database, ...context.dependencies].map((dependency) => ({ dependency, check: checkOf(dependency) }));
  return async () => {
    const [troubles, dependencies] = await Promise.all([
      readTroubleKinds(context),
      Promise.all(asked.map(({ check }) => check())),
    ]);
    const missing = asked.filter((_, index) => dependencies[index]?.status === 'failed');
    return {
      status: statusOf(
        missing.map(({ dependency }) => dependency),
        troubles,
      ),
      dependencies,
      troubles,
      model: context.modelInfo,
      version: context.installation.holdfast,
      environment: context.config.api.environment ?? null,
    };
  };
}

/** None when the database does not answer in time: that is said by its own check. */
async function readTroubleKinds({ reads }: ApiContext): Promise<HealthKind[]> {
  const facts = await withDeadline({ ms: CHECK_MS_MAX, late }, () => readServiceHealth(reads)).catch(() => []);
  return [...new Set(facts.map(({ kind }) => kind))];
}

function statusOf(missing: Dependency[], troubles: HealthKind[]): Readiness['status'] {
  if (missing.length === 0) return troubles.length === 0 ? 'ready' : 'degraded';
  return missing.every(({ isOptional }) => isOptional === true) ? 'degraded' : 'unavailable';
}

function checkOf(dependency: Dependency): () => Promise<Readiness['dependencies'][number]> {
  const { name } = dependency;
  let firstFailedAt: Date | null = null;
  return async () => {
    const startedAt = performance.now();
    const checked = withDeadline({ ms: CHECK_MS_MAX, late }, async (signal) => await dependency.check(signal));
    const error = await checked.then(() => null, errorName);
    const durationMs = Math.round((performance.now() - startedAt) * 10) / 10;
    firstFailedAt = error === null ? null : (firstFailedAt ?? new Date());
    if (error === null) return { name, status: 'ok', durationMs, error, failedSince: null };
    const since = dependency.outages?.since ?? firstFailedAt;
    return { name, status: 'failed', durationMs, error, failedSince: since?.toISOString() ?? null };
  };
}

function errorName(error: unknown): string {
  const codes = [error, (error as { cause?: unknown } | null)?.cause].map(
    (one) => (one as { code?: unknown } | null)?.code,
  );
  const code = codes.find((one) => typeof one === 'string');
  if (typeof code === 'string') return code;
  return error instanceof Error ? error.name : 'failed';
}
