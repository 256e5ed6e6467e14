// The names of all metrics, as the processes of a service make them, and those that a text names.
import { collectDefaultMetrics, Registry } from 'prom-client';
import { METRICS } from '../../src/metrics.ts';

/** Those of a process with every role. */
export const metricNames: ReadonlySet<string> = new Set([...Object.keys(METRICS), ...namesOfNode()]);

/** The metrics that a text names, each once, without the suffixes of the series of a histogram. */
export function namedMetrics(text: string): string[] {
  const names = text.match(/\b(?:holdfast|gen_ai|process|nodejs)_[a-z_]*[a-z]\b(?!\.)/g) ?? [];
  return [...new Set(names.map((name) => name.replace(/_(?:bucket|count|sum)$/, '')))];
}

function namesOfNode(): string[] {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register.getMetricsAsArray().map(({ name }) => name);
}
