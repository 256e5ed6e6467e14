// Whether old rows are deleted as the configuration says.
import type { Config } from '../../config.ts';
import { inspectRetention } from '../../store/inspect-service.ts';
import { ok, reasonOf, skipped, warning, type Finding } from './check.ts';

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
    return skipped(`could not be read: ${reasonOf(error)}`);
  }
}
