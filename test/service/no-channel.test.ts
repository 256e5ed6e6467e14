// A service without a channel loads nothing of a chat platform: it starts as quickly as before, and
// needs no more memory.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startScriptedTelegram, type ScriptedTelegram } from '../../scripted-platform/telegram/scripted-telegram.ts';
import { telegramChannel } from '../features/channels/channel-rig.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { openServiceRig } from './rig/service-rig.ts';

const SOON_MS = 150_000;

/**
 * Reports the modules of chat platforms that a process loads: the adapters, and the packages that
 * they use.
 */
const REPORT_LOADED = `data:text/javascript,${encodeURIComponent(`import { registerHooks } from 'node:module';
registerHooks({ resolve(name, context, next) {
  const found = next(name, context);
  if (/src\\/features\\/channels\\/platforms\\/|node_modules\\/(?:grammy|chat|@chat-adapter|@slack)\\//.test(found.url)) console.error('a platform is loaded: ' + found.url);
  return found;
} });`)}`;

let telegram: ScriptedTelegram;
beforeEach(async () => {
  telegram = await startScriptedTelegram();
});
afterEach(() => telegram.close());

test.each([{ isConfigured: false }, { isConfigured: true }])(
  'modules of a chat platform are loaded if a channel is configured: $isConfigured (G40)',
  async ({ isConfigured }) => {
    const rig = await openServiceRig({
      queue: 'postgres',
      env: { NODE_OPTIONS: `--import=${REPORT_LOADED}` },
      config: isConfigured ? { channels: telegramChannel(telegram, 'poll') } : {},
    });
    try {
      const api = rig.apiOf(await rig.start('api,worker,scheduler'));
      expect(await api.settled(await api.send('chat', { text: '[[reply: Hello.]]' }))).toMatchObject({
        reply: 'Hello.',
      });
      const loaded = () => rig.logs.filter((line) => line.includes('a platform is loaded')).length;
      if (isConfigured) await waitUntil('the adapter is loaded', SOON_MS, () => loaded() > 0);
      else expect(rig.logs.filter((line) => line.includes('a platform is loaded'))).toEqual([]);
    } finally {
      await rig.close();
    }
  },
);
