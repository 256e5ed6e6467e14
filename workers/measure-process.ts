// The metrics of a process: one registry that all of its parts write to, and a server for it in a process without the API.
import { Registry } from 'prom-client';
import { systemClock } from '../src/clock.ts';
import { addNodeMetrics, metricIn } from '../src/metrics.ts';
import type { Role } from '../src/kernel/process-part.ts';
import { startMetricsServer, type MetricsServer } from './metrics-server.ts';
import { createProcessMetrics, createWorkMetrics, type MeasuredFacts } from './process-metrics.ts';

export interface MeasuredProcess {
  roles: readonly Role[];
  host: string;
  /** Of a process without the API; absent: it serves no metrics, and measures none. */
  port: number | undefined;
}

/** The meters of a process; null and absent: nothing measures it. */
export type ProcessMeters = ReturnType<typeof measureProcess>;

/** Makes the meters that its roles need. */
export function measureProcess({ roles, host, port }: MeasuredProcess) {
  const isApi = roles.includes('api');
  if (!isApi && port === undefined) return null;
  const registry = new Registry();
  const statementSeconds = metricIn(registry, 'holdfast_statement_duration_seconds');
  const repeatedRings = metricIn(registry, 'holdfast_rings_repeated_total');
  return {
    registry,
    /** Names are those of `npm run sql`. */
    onStatement: (name: string, durationMs: number): void => statementSeconds.observe({ name }, durationMs / 1000),
    onRepeated: (rings: number): void => repeatedRings.inc(rings),
    work: roles.includes('worker') ? createWorkMetrics(registry, systemClock) : null,
    /** Adds the facts that are known when everything runs. Resolves with the server; null: the API serves the metrics. */
    async start(
      facts: MeasuredFacts,
      enders: { push: (end: () => Promise<unknown>) => unknown },
    ): Promise<MetricsServer | null> {
      const stop = createProcessMetrics(registry, facts);
      enders.push(async () => stop());
      if (isApi || port === undefined) return null;
      addNodeMetrics(registry);
      const server = await startMetricsServer(registry, { host, port });
      enders.push(() => server.close());
      return server;
    },
  };
}
