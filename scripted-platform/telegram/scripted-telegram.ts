// A scripted Telegram: a server with the wire of the Bot API, whose users are played by a test or
// over HTTP (docs/scripted-platform.md). It keeps nothing on disk.
import {
  recordOf,
  serveApi,
  type Answer,
  type ApiCall,
  type ApiRequest,
  type ApiServer,
  type Control,
  type ServerOptions,
} from '../api-server.ts';
import type { Refusal } from '../faults.ts';
import { disorderSchema, type Disorder, type PushRules } from '../pushes.ts';
import { Bots, type Bot } from './bots.ts';
import { METHODS } from './methods.ts';
import { edit, press, react, say, setChat, withoutScript, type Saying, type Stage } from './people.ts';
import { Refused } from './refused.ts';
import type { Update } from './update-queue.ts';
import { World, type ChatInfo, type Json, type Message } from './world.ts';

export interface ScriptedTelegramOptions extends ServerOptions {
  /**
   * The tokens of its bots, `<id>:<secret>`; absent: one, `110201543:scripted`. Several with one id
   * are of one bot.
   */
  tokens?: string[];
  /** False: in groups, bots receive only commands, mentions and answers to them. Absent: true. */
  readsAllGroupMessages?: boolean;
  /** How long a webhook may take; absent: 60 s. */
  pushTimeoutMs?: number;
  /**
   * The wait before the first further attempt to push, which then doubles up to a minute; absent: 1
   * s.
   */
  pushRetryMs?: number;
}

export interface ScriptedTelegram extends ApiServer {
  readonly bots: readonly Bot[];
  /** From then on the token is valid; one with a new id is of a new bot. */
  addToken: (token: string) => void;
  revokeToken: (token: string) => void;
  /** A person writes; returns the message, of an album the first. */
  say: (saying: Saying | string) => Message;
  edit: (input: Parameters<typeof edit>[1]) => Message;
  react: (input: Parameters<typeof react>[1]) => void;
  /** A person presses a button; returns the id of the press. */
  press: (input: Parameters<typeof press>[1]) => string;
  /** The text that the bot answered a press with; null: it has not answered. */
  answerOf: (pressId: string) => string | null;
  /** Makes a chat known, or has its people block the bot. */
  setChat: (input: Parameters<typeof setChat>[1]) => ChatInfo;
  /**
   * The messages of a chat as they are now, oldest first. `bot`: the id of the one whose direct
   * chat it is; absent: the first.
   */
  messages: (chat: number, bot?: string) => Message[];
  /** The updates that a bot has not confirmed. */
  pendingUpdates: (bot?: string) => Update[];
  /** Has the next pushes duplicated or reordered. */
  disturb: (disorder: Disorder, bot?: string) => void;
}

export const TELEGRAM_TOKEN = '110201543:scripted';
const PUSH_TIMEOUT_MS = 60_000;
const PUSH_RETRY_MS = 1000;
const PUSH_RETRY_MS_MAX = 60_000;

/**
 * Starts a scripted Telegram; fulfils when it listens, rejects with the socket's error when it
 * cannot.
 */
export async function startScriptedTelegram(options: ScriptedTelegramOptions = {}): Promise<ScriptedTelegram> {
  const { pushTimeoutMs = PUSH_TIMEOUT_MS, pushRetryMs = PUSH_RETRY_MS } = options;
  const rules: PushRules = {
    timeoutMs: pushTimeoutMs,
    isStrict: true,
    waitBefore: (attempt) => Math.min(pushRetryMs * 2 ** (attempt - 2), PUSH_RETRY_MS_MAX),
  };
  const record = recordOf(options);
  const bots = new Bots(options.readsAllGroupMessages ?? true, rules, record.pushes);
  for (const token of options.tokens ?? [TELEGRAM_TOKEN]) bots.addToken(token);
  const stage: Stage = { world: new World(), bots };
  const control = controlOf(stage);
  const server = await serveApi(options, record, { callOf: (request) => callOf(stage, request), refuse, control });
  return {
    ...server,
    bots: bots.all,
    addToken: (token) => bots.addToken(token),
    revokeToken: (token) => void bots.tokens.delete(token),
    say: (saying) => say(stage, typeof saying === 'string' ? { text: saying } : saying),
    edit: (input) => edit(stage, input),
    react: (input) => react(stage, input),
    press: (input) => press(stage, input),
    answerOf: (pressId) => stage.world.presses.get(pressId)?.text ?? null,
    setChat: (input) => setChat(stage, input),
    messages: (chat, bot) => stage.world.messagesOf(bots.find(bot).id, chat),
    pendingUpdates: (bot) => bots.find(bot).updates.pending,
    disturb: (disorder, bot) => bots.find(bot).updates.disturb(disorder),
    close: async () => {
      for (const bot of bots.all) bot.updates.close();
      await server.close();
    },
  };
}

/** Bodies are parsed by what they are given to. */
function controlOf(stage: Stage): Record<string, Control> {
  const { world, bots } = stage;
  return {
    'POST say': (body) => say(stage, body),
    'POST edit': (body) => edit(stage, body),
    'POST react': (body) => react(stage, body),
    'POST press': (body) => ({ pressId: press(stage, body) }),
    'POST chats': (body) => setChat(stage, body),
    'GET messages': ({ chat, bot }) => ({ messages: world.messagesOf(bots.find(bot).id, Number(chat)) }),
    'GET updates': ({ bot }) => ({ updates: bots.find(bot).updates.pending }),
    'GET bots': () => ({ bots: bots.all.map(({ user }) => user), tokens: [...bots.tokens.keys()] }),
    'POST pushes': ({ bot, ...disorder }) => bots.find(bot).updates.disturb(disorderSchema.parse(disorder)),
  };
}

function callOf({ world, bots }: Stage, request: ApiRequest): ApiCall {
  const { path, parameters, files, signal } = request;
  const [, isFile, token = '', rest = ''] = /^\/(file\/)?bot([^/]+)\/(.+)$/.exec(decodeURIComponent(path)) ?? [];
  const bot = bots.tokens.get(token);
  const method = isFile === undefined ? rest : 'getFile (bytes)';
  const chat = parameters.chat_id === undefined ? null : String(parameters.chat_id as string | number);
  const run = async (): Promise<Answer> => {
    if (!/^\d+:/.test(token)) return failure(404, 'Not Found');
    if (bot === undefined) return failure(401, 'Unauthorized');
    if (isFile !== undefined) {
      const file = [...world.files.values()].find((each) => each.path === rest);
      if (file === undefined) return failure(404, 'Not Found');
      return { status: 200, body: file.bytes, headers: { 'content-type': 'application/octet-stream' } };
    }
    const carryOut = METHODS[method.toLowerCase()];
    if (carryOut === undefined) return failure(404, 'Not Found');
    try {
      const result = await carryOut({ world: world, bot, parameters, files, signal });
      // prettier-ignore
      const shown = typeof result === 'object' && result !== null && 'message_id' in result ? withoutScript(result as Json) : result;
      return { status: 200, body: { ok: true, result: structuredClone(shown) } };
    } catch (error) {
      if (error instanceof Refused) return failure(error.status, error.message);
      throw error;
    }
  };
  return { method, bot: bot?.id ?? '', chat, run };
}

const DESCRIPTIONS: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden: bot was blocked by the user',
  404: 'Not Found',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
};

function refuse({ status, description, retryAfter }: Refusal): Answer {
  if (retryAfter === undefined) return failure(status, description ?? DESCRIPTIONS[status] ?? 'Refused');
  const { body } = failure(status, description ?? `Too Many Requests: retry after ${retryAfter}`);
  return {
    status,
    body: { ...body, parameters: { retry_after: retryAfter } },
    headers: { 'retry-after': String(retryAfter) },
  };
}

function failure(status: number, description: string) {
  return { status, body: { ok: false, error_code: status, description } };
}
