// The use cases of a process on a test database, with a doorbell that only records its rings.
import type { Ring } from '../../src/kernel/queue/after-commit.ts';
import type { Config } from '../../src/config.ts';
import { createService, type Service } from '../../src/kernel/use-cases/service.ts';
import type { Database } from '../../src/database/database.ts';
import { CHAT, EFFECTS } from '../features.ts';
import { createWake, type Wake } from '../../src/kernel/queue/rings.ts';

/** Makes them. */
export function recordedService(parts: { config: Config; database: Database; wake?: Wake }): {
  service: Service;
  rings: Ring[];
} {
  const { config, database, wake = createWake() } = parts;
  const rings: Ring[] = [];
  const doorbell = { ring: async (rung: readonly Ring[]) => void rings.push(...rung) };
  return { service: createService({ config, database, effects: EFFECTS, chat: CHAT, wake, doorbell }), rings };
}
