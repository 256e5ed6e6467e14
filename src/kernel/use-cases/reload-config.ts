// Reads the configuration of this process again, and logs the result.
import { ConfigError, type ConfigChange, type LiveConfig } from '../../config.ts';
import type { Logger } from '../../logger.ts';

/** Returns every difference. Rejects, and changes nothing, when the configuration has a fault or cannot be used. */
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
