// What a process with the API loads when it starts.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadWebhooks } from '../../../src/features/channels/accounts.ts';
import type { Service } from '../../../src/kernel/use-cases/service.ts';

const opened: string[] = [];
Object.assign(globalThis, { openedForTest: opened });

test('the platforms of accounts with webhooks are opened at the start, others are not, and one that is wrong stops nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const adapter = join(folder, 'platform.mjs');
  await writeFile(
    adapter,
    'export const openPlatform = ({ channel, account }) => void openedForTest.push(`${channel}/${account}`);\n',
  );
  const accounts = { main: { token: 'a' }, unset: {}, off: { token: 'a', enabled: false } };
  const platforms = {
    hooked: { adapter, mode: 'webhook', accounts },
    missing: { adapter: join(folder, 'none.mjs'), mode: 'webhook', accounts },
    polled: { adapter, mode: 'poll', accounts },
  };
  const service = { config: { channels: { platforms } } } as unknown as Service;
  expect(await loadWebhooks({ service })).toEqual({});
  expect(opened).toEqual(['hooked/main']);
});
