// Changes of the service that are written down. The audit log: a row is written before each change,
// so that no change is without one, and its outcome is added afterwards. The reload: the
// configuration of this process is read again, and the result is logged.
import { newId } from '../../ids.ts';
import { beginAudit, endAudit, type AuditedChange } from '../processes/audit.ts';
import type { Service } from './service.ts';
import { ConfigError, type ConfigChange, type LiveConfig } from '../../config.ts';
import type { Logger } from '../../logger.ts';

export interface ChangeEnd {
  /** `ok`, or the code of the problem. */
  outcome: string;
  /** The id of the created object, if there is one. */
  made: string | null;
}

/**
 * Makes a change and writes it down. `endOf` says how it has ended, from its result or its error.
 */
export async function recordChange<Result>(
  { database }: Service,
  change: AuditedChange,
  parts: { perform: () => Promise<Result>; endOf: (ended: { result: Result } | { error: unknown }) => ChangeEnd },
): Promise<Result> {
  const id = newId<string>();
  await beginAudit(database, id, change);
  // The change stays as it is when its outcome cannot be written: the row then has none.
  const end = (ended: { result: Result } | { error: unknown }): Promise<void> =>
    endAudit(database, id, parts.endOf(ended)).catch((error: unknown) =>
      database.outages.report(error, 'The outcome of a change could not be written to the audit log'),
    );
  try {
    const result = await parts.perform();
    await end({ result });
    return result;
  } catch (error) {
    await end({ error });
    throw error;
  }
}

/**
 * Reads the configuration of this process again, logs the result, and returns every difference.
 * Rejects, and changes nothing, when the configuration has a fault or cannot be used.
 */
export async function reloadConfig(live: LiveConfig, logger: Logger): Promise<ConfigChange[]> {
  try {
    const changes = await live.reload();
    const listPaths = (fits: (change: ConfigChange) => boolean) => changes.filter(fits).map(({ path }) => path);
    const changed = listPaths(({ needsRestart, hasEffect }) => hasEffect && !needsRestart);
    const needsRestart = listPaths((change) => change.needsRestart);
    const withoutEffect = listPaths(({ hasEffect }) => !hasEffect);
    logger.info({ changed, needsRestart, withoutEffect }, 'Configuration reloaded');
    return changes;
  } catch (error) {
    const faults = error instanceof ConfigError ? error.issues.map(({ path, message }) => `${path} ${message}`) : [];
    logger.error({ err: error, faults }, 'Configuration was not reloaded; the running configuration stays in use');
    throw error;
  }
}
