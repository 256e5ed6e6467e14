// Requests to Discord, and what their failures say about whether they were carried out; and its
// gateway, whose session goes from one connection and process to the next, with the number of the
// last event that is committed: Discord then sends again what came after it.
import {
  DiscordAPIError,
  HTTPError,
  RateLimitError,
  REST,
  type RequestData,
  type RequestMethod,
} from '@discordjs/rest';
import { WebSocketManager, WebSocketShardEvents, type SessionInfo } from '@discordjs/ws';
import {
  GatewayCloseCodes,
  GatewayDispatchEvents,
  GatewayIntentBits,
  type GatewayDispatchPayload,
} from 'discord-api-types/v10';
import { given } from '../../../core/json.ts';
import { PlatformError, type Received } from '../platform.ts';
import { noAnswer, refuseAborted } from './requests.ts';

/** Sends a request. Rejects with `PlatformError`. */
export type AskDiscord = <Result = unknown>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  route: `/${string}`,
  request: RequestData & { signal: AbortSignal },
) => Promise<Result>;

/** Asks once, without the retries and waits of the client, which know nothing of the outbox. */
export function createAsk(token: string, baseUrl: string | undefined): AskDiscord {
  const rest = new REST({
    ...(baseUrl === undefined ? {} : { api: `${baseUrl.replace(/\/$/, '')}/api` }),
    retries: 0,
    rejectOnRateLimit: () => true,
    // The types of undici and of Node differ in what is not used here.
    makeRequest: (url, init) => fetch(url, init as never) as never,
  }).setToken(token);
  return async (method, route, request) => {
    // Without ids, and without the tokens of interactions.
    const what = `${method} ${route.replaceAll(/\/(?:\d+|[\w-]{30,})(?=\/|$)/g, '')}`;
    const { signal } = request;
    refuseAborted(what, signal);
    try {
      return (await rest.request({ ...request, method: method as RequestMethod, fullRoute: route })) as never;
    } catch (error) {
      // The client drops a token that was refused once.
      rest.setToken(token);
      throw toPlatformError(what, error);
    }
  };
}

/**
 * Null: Discord refuses it, because the bot was removed from the server or the channel meanwhile.
 */
export async function nullIfRefused<Result>(asked: Promise<Result>): Promise<Result | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'refused') return null;
    throw error;
  }
}

function toPlatformError(method: string, error: unknown): unknown {
  if (error instanceof RateLimitError)
    return new PlatformError('later', `Discord limits ${method}`, {
      status: 429,
      retryAfterMs: Math.ceil(error.retryAfter),
      isOfAccount: error.global,
    });
  if (error instanceof DiscordAPIError) {
    const { status, code, message } = error;
    // A right that is missing concerns one chat.
    const kind = status === 401 ? 'unauthorized' : 'refused';
    return new PlatformError(kind, `Discord refused ${method}: ${status} ${message} (${code})`, { status });
  }
  // A 5xx can come from a gateway after Discord has carried the request out.
  if (error instanceof HTTPError)
    return new PlatformError('unknown', `Discord refused ${method}: ${error.status}`, { status: error.status });
  if (!(error instanceof Error) || !/^(?:AbortError|TimeoutError|TypeError|SyntaxError)$/.test(error.name))
    return error;
  const { code } = (error.cause ?? {}) as { code?: string };
  return noAnswer({ platform: 'Discord', method }, { code, name: error.name });
}

const INTENTS =
  GatewayIntentBits.Guilds |
  GatewayIntentBits.GuildMessages |
  GatewayIntentBits.GuildMessageReactions |
  GatewayIntentBits.DirectMessages |
  GatewayIntentBits.DirectMessageReactions |
  GatewayIntentBits.MessageContent;

/** A close with this code keeps the session. */
const KEEP_SESSION = 4200;
/**
 * After these Discord does not resume a session. The client closes with the first when Discord says
 * so in words.
 */
const ENDS_SESSION: ReadonlySet<number> = new Set([
  1000,
  4006,
  GatewayCloseCodes.InvalidSeq,
  GatewayCloseCodes.SessionTimedOut,
]);
const DIRECT_CHATS_MAX = 100;

/** How to enable what the bot needs to read. */
export const ENABLE_INTENT =
  'In the developer portal, under "Bot", enable "Message Content Intent": without it Discord sends no texts.';

const FATAL: Readonly<Record<number, string>> = {
  [GatewayCloseCodes.AuthenticationFailed]: 'the token is not valid',
  [GatewayCloseCodes.DisallowedIntents]: ENABLE_INTENT,
  [GatewayCloseCodes.ShardingRequired]: 'the bot is in too many servers for one connection',
};

/** From where on the history is read when no session can be resumed. */
export interface Gap {
  /** The latest message that is known, in epoch milliseconds. */
  at: number;
  /** Direct chats, the latest last: Discord does not list them. */
  direct: string[];
}

/** How far an account is read. */
interface Position extends Gap {
  /** Absent: Discord has none that can be resumed. */
  session?: { id: string; url: string; sequence: number };
}

interface Listening {
  ask: AskDiscord;
  token: string;
  read: (event: GatewayDispatchPayload, signal: AbortSignal) => Promise<Received[]>;
  readMissed: (gap: Gap) => AsyncGenerator<Received[]>;
  position: string | null;
  commit: (received: Received[], position: string | null) => Promise<void>;
  signal: AbortSignal;
}

/** Commits what the gateway sends, and how far it is read. */
function createProgress({ read, readMissed, commit, signal, ...listening }: Listening) {
  let position = listening.position === null ? null : (JSON.parse(listening.position) as Position);

  async function store(received: Received[], next: Position): Promise<void> {
    await commit(received, JSON.stringify(next));
    position = next;
  }

  return {
    session: (): SessionInfo | null => sessionOf(position),
    /**
     * A new session: what was written since the last one is read first. Its position is stored when
     * all of that is committed.
     */
    async begin(session: NonNullable<Position['session']>): Promise<void> {
      let next: Position = position ?? { at: Date.now(), direct: [] };
      if (position !== null)
        for await (const received of readMissed(position)) {
          if (received.length > 0) await commit(received, JSON.stringify(position));
          next = after(next, received);
        }
      await store([], { ...next, session });
    },
    async handle(event: GatewayDispatchPayload): Promise<void> {
      const received = await read(event, signal);
      if (position?.session === undefined) return;
      const session = { ...position.session, sequence: Math.max(position.session.sequence, event.s) };
      const next = { ...after(position, received), session };
      // What says nothing is passed with the next that does.
      if (received.length > 0) await store(received, next);
      else position = next;
    },
    /** Discord does not resume the session. */
    async dropSession(): Promise<void> {
      if (position === null) return;
      const { session: _gone, ...rest } = position;
      await store([], rest);
    },
  };
}

/**
 * Resolves when Discord asks for a new connection, or at `signal`; rejects when a commit has, or
 * with `PlatformError`.
 */
export async function listenToGateway(listening: Listening): Promise<void> {
  const { ask, token, signal } = listening;
  const progress = createProgress(listening);
  const ended = Promise.withResolvers<void>();
  let isOver = false;
  let isInvalid = false;
  const manager = new WebSocketManager({
    token,
    intents: INTENTS,
    shardCount: 1,
    shardIds: [0],
    rest: { get: (route: `/${string}`) => ask('GET', route, { signal }) } as never,
    // The client counts an event when it arrives. Resumes and heartbeats name the last that is
    // committed instead. After the end there is no answer: the client would open a connection of
    // its own.
    retrieveSessionInfo: () => (isOver ? new Promise<never>(() => {}) : progress.session()),
    updateSessionInfo: () => {},
  });
  // One after the other. The client emits the first event of a session after some that follow it.
  const begun = Promise.withResolvers<void>();
  let queue = progress.session() === null ? begun.promise : Promise.resolve();
  queue.catch(ended.reject);
  manager.on(WebSocketShardEvents.Dispatch, (event) => {
    if (event.t === GatewayDispatchEvents.Ready)
      return begun.resolve(
        progress.begin({ id: event.d.session_id, url: event.d.resume_gateway_url, sequence: event.s }),
      );
    queue = queue.then(() => (isOver ? undefined : progress.handle(event)));
    queue.catch(ended.reject);
  });
  manager.on(WebSocketShardEvents.Closed, (code) => {
    isInvalid ||= !isOver && ENDS_SESSION.has(code);
    if (code === KEEP_SESSION) ended.resolve();
    else ended.reject(closedWith(code));
  });
  // The close that follows has the reason.
  manager.on(WebSocketShardEvents.Error, () => {});
  manager.on(WebSocketShardEvents.SocketError, (error) =>
    ended.reject(new PlatformError('later', `The gateway of Discord cannot be reached: ${error.message}`)),
  );
  const stop = (): void => ended.resolve();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    manager.connect().catch((error: unknown) => ended.reject(asFault(error)));
    await ended.promise;
  } finally {
    signal.removeEventListener('abort', stop);
    isOver = true;
    begun.resolve();
    void manager.destroy({ code: KEEP_SESSION });
    // What is being committed ends before the account is released.
    await queue.catch(() => undefined);
    if (isInvalid && !signal.aborted) await progress.dropSession();
  }
}

function sessionOf(position: Position | null): SessionInfo | null {
  if (position?.session === undefined) return null;
  const { id, url, sequence } = position.session;
  return { sessionId: id, resumeURL: url, sequence, shardId: 0, shardCount: 1 };
}

/** The position once this is committed. */
function after(position: Position, received: readonly Received[]): Position {
  let { at, direct } = position;
  for (const said of received) {
    if (said.kind === 'unreadable') continue;
    if (said.kind === 'message') at = Math.max(at, said.at);
    const { chatType, chatId } = said.place;
    if (chatType === 'direct') direct = [...direct.filter((id) => id !== chatId), chatId].slice(-DIRECT_CHATS_MAX);
  }
  return { ...position, at, direct };
}

function closedWith(code: number): PlatformError {
  const fatal = FATAL[code];
  return new PlatformError(
    fatal === undefined ? 'later' : 'unauthorized',
    `Discord closed the gateway (${code})${fatal === undefined ? '' : `: ${fatal}`}`,
  );
}

/** The client's own errors say that the bot may not begin sessions for now. */
function asFault(error: unknown): unknown {
  if (error instanceof PlatformError) return error;
  return new PlatformError('later', error instanceof Error ? error.message : String(error), given({ cause: error }));
}
