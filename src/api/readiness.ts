// Readiness: all dependencies are checked in parallel, for a bounded time, and the answer says how long each took. A fault is
// named by its code only, because a message may contain an address or a password (G31).
import { withDeadline } from '../deadline.ts';
import { pingDatabase } from '../store/views/stats.ts';
import type { ApiContext, Dependency, ModelInfo } from './context.ts';

export interface Readiness {
  /** `degraded`: something is missing without which messages are still accepted. */
  status: 'ready' | 'degraded' | 'unavailable';
  dependencies: { name: string; status: 'ok' | 'failed'; durationMs: number; error: string | null }[];
  model: ModelInfo;
}

const CHECK_MS_MAX = 2_000;

/** Asks the database and all other dependencies. Never rejects. */
export async function checkReadiness(context: ApiContext): Promise<Readiness> {
  const database: Dependency = { name: 'database', check: () => pingDatabase(context.views) };
  const asked = [database, ...context.dependencies];
  const dependencies = await Promise.all(asked.map(checkOne));
  const missing = asked.filter((_, index) => dependencies[index]?.status === 'failed');
  return { status: statusOf(missing), dependencies, model: context.modelInfo };
}

function statusOf(missing: Dependency[]): Readiness['status'] {
  if (missing.length === 0) return 'ready';
  return missing.every(({ isOptional }) => isOptional === true) ? 'degraded' : 'unavailable';
}

async function checkOne(dependency: Dependency): Promise<Readiness['dependencies'][number]> {
  const startedAt = performance.now();
  const late = (): Error => new DOMException(`no answer within ${CHECK_MS_MAX} ms`, 'TimeoutError');
  const checked = withDeadline({ ms: CHECK_MS_MAX, late }, async (signal) => await dependency.check(signal));
  const error = await checked.then(() => null, errorName);
  const durationMs = Math.round((performance.now() - startedAt) * 10) / 10;
  return { name: dependency.name, status: error === null ? 'ok' : 'failed', durationMs, error };
}

function errorName(error: unknown): string {
  const codes = [error, (error as { cause?: unknown } | null)?.cause].map(
    (one) => (one as { code?: unknown } | null)?.code,
  );
  const code = codes.find((one) => typeof one === 'string');
  if (typeof code === 'string') return code;
  return error instanceof Error ? error.name : 'failed';
}
