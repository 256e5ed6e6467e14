// Traces: turns and batches that have ended, as spans of OpenTelemetry. Nothing of it is loaded
// while no exporter is configured.
import type { Feature } from '../../kernel/features.ts';

export const traces: Feature = {
  name: 'traces',
  tracing: async () => (await import('./start-tracing.ts')).startTraces,
};
