// A process that rolls up and deletes old rows in a loop, with every retention set to 0, which the
// configuration does not allow. It runs until it is killed.
import { setImmediate as nextRound } from 'node:timers/promises';
import { loadConfig } from '../../../src/config.ts';
import { createLogger } from '../../../src/logger.ts';
import { openDatabase } from '../../../src/database/database.ts';
import { rollUp } from '../../../src/features/costs/store/roll-up.ts';
import { runRetention } from '../../../src/features/retention/rounds.ts';
import { changeRetention } from '../../rows/retention.ts';

const url = process.argv[2];
if (url === undefined) throw new Error('The address of the database is missing.');
const config = {
  ...loadConfig({ env: {}, cwd: '/nowhere' }),
  // Messages and the keys of requests are kept, so that the test can read their status.
  retention: { turns: 0, transcripts: 0, deliveries: 0, deadLetters: 0 },
};
const database = openDatabase({ url, role: 'retention' });
const logger = createLogger({ level: 'silent', format: 'json', name: 'retention' });
const { signal } = new AbortController();
for (;;) {
  await rollUp(database);
  await changeRetention(database.views, {}, { completedAt: null });
  await runRetention({ database, config }, logger, signal);
  await nextRound();
}
