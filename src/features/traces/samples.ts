// Which traces are exported, as OTEL_TRACES_SAMPLER says.
import type { TraceSampler } from '../../config/choices.ts';
import type { TraceParent } from '../../core/telemetry/trace-parent.ts';

/** True for a trace that is exported. `isKept`: a sampler by ratio keeps it. */
export function samples(
  sampler: TraceSampler,
  { parent, isKept }: { parent: TraceParent | null; isKept: () => boolean },
): boolean {
  if (parent !== null && sampler.startsWith('parentbased_')) return parent.isSampled;
  switch (sampler) {
    case 'always_on':
    case 'parentbased_always_on':
      return true;
    case 'always_off':
    case 'parentbased_always_off':
      return false;
    case 'traceidratio':
    case 'parentbased_traceidratio':
      return isKept();
    default:
      return sampler satisfies never;
  }
}
