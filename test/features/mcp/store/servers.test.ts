import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimDueMcpServers, storeMcpLoss } from '../../../../src/features/mcp/store/servers.ts';
import { addMcpServers, readMcpServers } from '../../../rows/mcp-servers.ts';
import { now } from '../../../rows/table.ts';
import { createStoreRig, type StoreRig } from '../../../store/store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

test('a try that failed is counted once when its statement is sent again after an unknown COMMIT (G23)', async () => {
  const { database } = rig;
  await addMcpServers(rig, { name: 'wiki', state: 'connected', dueAt: now });
  expect(await claimDueMcpServers(database, [{ name: 'wiki', everyMs: 60_000 }])).toEqual(['wiki']);
  for (const error of ['timeout', 'timeout']) await storeMcpLoss(database, { name: 'wiki', error });
  expect(await readMcpServers(rig, {}, 'state', 'failedTries')).toEqual([{ state: 'lost', failedTries: 1 }]);
});
