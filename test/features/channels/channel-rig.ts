// A service that is connected to a scripted Telegram: the configuration of an account, an API with
// a webhook in the process of the test, and what has become of what people wrote.
import { createApiRig, type ApiRig } from '../../api/api-rig.ts';
import {
  startScriptedTelegram,
  TELEGRAM_TOKEN,
  type ScriptedTelegram,
} from '../../../scripted-platform/telegram/scripted-telegram.ts';
import { readBodies, readEventTexts } from '../../rows/channels.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';

export const SECRET = 'secret-of-the-webhook';
/** A group that is allowed, with topics. */
export const GROUP = -1_001_234;
export const WEBHOOK = '/v1/channels/telegram/main/webhook';
export const BOT = TELEGRAM_TOKEN.slice(0, TELEGRAM_TOKEN.indexOf(':'));

/**
 * The channel `telegram` with the account `main`, which every person and the group may write to.
 */
export function telegramChannel({ url }: Pick<ScriptedTelegram, 'url'>, mode: 'webhook' | 'poll', own: object = {}) {
  const main = {
    token: TELEGRAM_TOKEN,
    baseUrl: url,
    dm: 'open',
    groupAllow: [String(GROUP)],
    ...(mode === 'webhook' ? { secretToken: SECRET } : {}),
    ...own,
  };
  return { telegram: { adapter: 'telegram', mode, accounts: { main } } };
}

interface ChannelRig {
  telegram: ScriptedTelegram;
  api: ApiRig;
  /** Pushes an update as Telegram does; resolves with the status. */
  push: (update: object, headers?: Record<string, string>) => Promise<number>;
  /**
   * The bodies of the messages of a session, in its order, and what it was sent as system events.
   */
  messages: (session: string) => Promise<Record<string, unknown>[]>;
  events: (session: string) => Promise<string[]>;
}

/**
 * Holds the rig from the first test on. `own`: settings of the account; `file`: of the
 * configuration.
 */
export function useChannelRig({ own = {}, file = {} }: { own?: object; file?: object } = {}): { rig: ChannelRig } {
  const holder = {} as { rig: ChannelRig };
  shareAmongTests(async (onEnd) => {
    const telegram = await startScriptedTelegram({ pushRetryMs: 50 });
    onEnd(() => telegram.close());
    const database = await withTestDatabase();
    onEnd(() => database.drop());
    const settings = {
      messages: { queue: { debounceMs: 0 } },
      channels: telegramChannel(telegram, 'webhook', own),
      ...file,
    };
    const api = await createApiRig(database.url, { file: settings });
    onEnd(() => api.close());
    holder.rig = {
      telegram,
      api,
      push: async (update, headers = { 'x-telegram-bot-api-secret-token': SECRET }) => {
        const { statusCode } = await api.app.inject({ method: 'POST', url: WEBHOOK, payload: update, headers });
        return statusCode;
      },
      messages: (session) => readBodies(api, session),
      events: (session) => readEventTexts(api, session),
    };
  });
  return holder;
}

/** The update that brings this message of a scripted Telegram. */
export function updateOf(message: object, kind: 'message' | 'edited_message' = 'message'): object {
  return { update_id: (updates += 1), [kind]: message };
}

let updates = 1_000;
