// Requests to Slack, and what their failures say about whether they were carried out; its socket;
// and its history, which has what the socket has missed while it was away.
import { SocketModeClient } from '@slack/socket-mode';
import { ErrorCode, LogLevel, WebClient, type Logger, type WebClientOptions } from '@slack/web-api';
import { orAborted } from '../../../clock.ts';
import { given } from '../../../core/json.ts';
import { PlatformError, type Received } from '../platform.ts';
import { GAP, noAnswer, patiently, refuseAborted, startOfGap } from './requests.ts';
import { readInteraction, type SlackMessage } from './slack-events.ts';

/**
 * Errors of Slack that say that the token is not valid. A right that is missing concerns one
 * method, whose calls are refused.
 */
const UNAUTHORIZED = new Set([
  'account_inactive',
  'ekm_access_denied',
  'invalid_auth',
  'not_allowed_token_type',
  'not_authed',
  'org_login_required',
  'token_expired',
  'token_revoked',
]);
const LATER = new Set(['ratelimited', 'rate_limited', 'request_timeout', 'service_unavailable', 'team_added_to_org']);
/** Slack says of these that some of the request may have been carried out. */
const UNKNOWN = new Set(['fatal_error', 'internal_error']);

/** The client logs what it sends, which has secrets in it. */
const SILENT: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  getLevel: () => LogLevel.ERROR,
  setName() {},
};

/**
 * How Slack is asked: once, without the retries and waits of the client, which know nothing of the
 * outbox.
 */
function clientOptions(baseUrl: string | undefined): WebClientOptions {
  return {
    logger: SILENT,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    allowAbsoluteUrls: false,
    ...given({ slackApiUrl: baseUrl === undefined ? undefined : `${baseUrl.replace(/\/$/, '')}/api/` }),
  };
}

export type AskSlack = <Result>(
  method: string,
  signal: AbortSignal,
  call: (client: WebClient) => Promise<Result>,
) => Promise<Result>;

/** A client takes no signal for a call. */
function fetchUntil(signal: AbortSignal): NonNullable<WebClientOptions['fetch']> {
  return (url, init) => {
    const signals = [signal, ...(init?.signal === undefined ? [] : [init.signal])];
    return fetch(url, { ...init, signal: AbortSignal.any(signals) });
  };
}

/**
 * Asks with a token. Rejects with `PlatformError`. Each call has a client of its own, which its
 * signal ends.
 */
export function createAsk(token: string, baseUrl: string | undefined): AskSlack {
  const options = clientOptions(baseUrl);
  return async (method, signal, call) => {
    refuseAborted(method, signal);
    const client = new WebClient(token, { ...options, fetch: fetchUntil(signal) });
    try {
      return await call(client);
    } catch (error) {
      throw toPlatformError(method, error);
    }
  };
}

interface Failure {
  code?: string;
  message?: string;
  data?: { error?: string; needed?: string };
  statusCode?: number;
  retryAfter?: number;
  original?: { cause?: { code?: string }; code?: string; name?: string };
}

/** The cause is not passed on: its text can contain the request, and that the token. */
function toPlatformError(method: string, error: unknown): unknown {
  const { code, data, statusCode: status = null, retryAfter = 0, original } = (error ?? {}) as Failure;
  switch (code as ErrorCode) {
    case ErrorCode.RateLimitedError:
      return new PlatformError('later', `Slack limits ${method}`, { status: 429, retryAfterMs: retryAfter * 1_000 });
    case ErrorCode.PlatformError: {
      const { error: name = '', needed } = data ?? {};
      const rights = needed === undefined ? '' : `: the bot needs the scope ${needed}`;
      return new PlatformError(kindOf(name), `Slack refused ${method}: ${name}${rights}`, { status: 200 });
    }
    case ErrorCode.HTTPError:
      // A 5xx can come from a gateway after Slack has carried the request out.
      return new PlatformError((status ?? 0) >= 500 ? 'unknown' : 'refused', `Slack refused ${method}: ${status}`, {
        status,
      });
    case ErrorCode.RequestError: {
      const fault = { code: original?.cause?.code ?? original?.code, name: original?.name };
      return noAnswer({ platform: 'Slack', method }, fault);
    }
    // Faults of uploads before anything was sent, and what is no fault of Slack.
    case ErrorCode.FileUploadInvalidArgumentsError:
    case ErrorCode.FileUploadReadFileDataError:
    default:
      return error;
  }
}

function kindOf(name: string): PlatformError['kind'] {
  if (UNAUTHORIZED.has(name)) return 'unauthorized';
  if (LATER.has(name)) return 'later';
  return UNKNOWN.has(name) ? 'unknown' : 'refused';
}

/** How long Slack may take to greet, in milliseconds, and to answer that the socket closes. */
const OPEN_MS = 20_000;
const CLOSE_MS = 2_000;

interface Envelope {
  ack: (answer?: Record<string, unknown>) => Promise<void>;
  type: string;
  body: unknown;
}

interface Listening {
  appToken: string;
  baseUrl: string | undefined;
  position: string | null;
  readEvent: (body: unknown) => Received[];
  /** What was written since a position. */
  readMissed: (position: string) => AsyncGenerator<Received[]>;
  commit: (received: Received[], position: string | null) => Promise<void>;
  signal: AbortSignal;
  openMs?: number;
}

/**
 * Holds the socket. An envelope is acknowledged when what it says is committed; Slack sends one
 * that is not acknowledged again. Resolves when Slack closes the socket, which it does every few
 * hours, or at `signal`; rejects when a commit has, or with `PlatformError`.
 */
export async function listenToSocket(listening: Listening): Promise<void> {
  const { readEvent, readMissed, commit, signal, openMs = OPEN_MS } = listening;
  const opening = AbortSignal.any([signal, AbortSignal.timeout(openMs)]);
  const client = createClient(listening, opening);
  const closed = Promise.withResolvers<void>();
  const gapRead = Promise.withResolvers<void>();
  // They can reject before they are awaited.
  for (const { promise } of [closed, gapRead]) promise.catch(() => undefined);
  let { position } = listening;

  async function commitNext(received: Received[]): Promise<void> {
    const next = positionAfter(received, position);
    await commit(received, next);
    position = next;
  }

  /** The position is that of all chats: it moves when the gap of the last one is committed. */
  async function commitGap(since: string): Promise<void> {
    let next: string | null = since;
    for await (const received of readMissed(since)) {
      if (received.length > 0) await commit(received, since);
      next = positionAfter(received, next);
    }
    if (next === since) return;
    await commit([], next);
    position = next;
  }

  /** A gap begins here if nothing is said before the socket closes. */
  async function commitStart(): Promise<void> {
    const now = (Date.now() / 1_000).toFixed(6);
    await commit([], now);
    position = now;
  }

  async function handle({ type, body, ack }: Envelope): Promise<void> {
    const received = type === 'events_api' ? readEvent(body) : type === 'interactive' ? readInteraction(body) : [];
    if (received.length > 0) await commitNext(received);
    // Slack sends it again if the socket has closed meanwhile; then it is a duplicate.
    await ack().catch(() => undefined);
  }

  // One after the other, what was missed first.
  let queue = gapRead.promise;
  client.on('slack_event', (envelope: Envelope) => {
    queue = queue.then(() => (signal.aborted ? undefined : handle(envelope)));
    queue.catch(closed.reject);
  });
  client.on('disconnected', () => closed.resolve());
  const stop = (): void => closed.resolve();
  signal.addEventListener('abort', stop);
  try {
    await orAborted(opening, () => client.start());
    await (position === null ? commitStart() : commitGap(position));
    gapRead.resolve();
    await closed.promise;
  } catch (error) {
    gapRead.reject(error);
    if (!signal.aborted) throw asFault(error);
  } finally {
    signal.removeEventListener('abort', stop);
    client.removeAllListeners('slack_event');
    // What is being committed ends before the account is released.
    await queue.catch(() => undefined);
    await close(client);
  }
}

function createClient({ appToken, baseUrl }: Listening, opening: AbortSignal): SocketModeClient {
  const { logger: _logger, ...options } = clientOptions(baseUrl);
  return new SocketModeClient({
    appToken,
    autoReconnectEnabled: false,
    logger: SILENT,
    clientOptions: { ...options, fetch: fetchUntil(opening) },
  });
}

function positionAfter(received: Received[], before: string | null): string | null {
  const newest = Math.max(Number(before ?? 0), ...received.map((said) => ('at' in said ? said.at / 1_000 : 0)));
  return newest === 0 ? before : newest.toFixed(6);
}

/** The second call ends what Slack has not closed in time. */
function close(client: SocketModeClient): Promise<void> {
  return orAborted(AbortSignal.timeout(CLOSE_MS), () => client.disconnect()).catch(() => client.disconnect());
}

function asFault(error: unknown): unknown {
  // A socket that is closed before it is greeted has no error.
  if (error === undefined) return new PlatformError('later', 'Slack closed the socket before it was open');
  if (error instanceof DOMException) return new PlatformError('later', 'Slack did not open the socket in time');
  return toPlatformError('apps.connections.open', error);
}

const PAGE = 200;

type ReadMessage = (message: SlackMessage, channel: string, team: string | undefined) => Received[];

/** What was written since a position (a time of Slack), in the order of each chat. */
export async function* readMissed(
  askOnce: AskSlack,
  readMessage: ReadMessage,
  { position, signal }: { position: string; signal: AbortSignal },
): AsyncGenerator<Received[]> {
  const ask: AskSlack = (method, until, call) => patiently(until, () => askOnce(method, until, call));
  const fromMs = startOfGap(Number(position) * 1_000);
  const oldest = toTime(fromMs);
  // A thread that was answered in the gap can have begun long before.
  const parentsFrom = toTime(Math.max(fromMs - GAP.msMax, 0));
  for (const { id: channel, team } of await listChats(ask, signal)) {
    const recent = await readSince(ask, { channel, oldest: parentsFrom, signal });
    const messages = recent.filter(({ ts = '' }) => ts > oldest);
    const threads = recent.filter(({ latest_reply: latest }) => latest !== undefined && latest > oldest);
    for (const { ts: thread } of threads) {
      const replies = await readSince(ask, { channel, oldest, signal, ...given({ thread }) });
      // The message that began the thread is among them.
      messages.push(...replies.filter(({ ts }) => ts !== thread));
    }
    const inOrder = messages.toSorted((one, other) => Number(one.ts) - Number(other.ts));
    yield inOrder.flatMap((message) => readMessage(message, channel, team));
  }
}

async function listChats(ask: AskSlack, signal: AbortSignal): Promise<{ id: string; team: string | undefined }[]> {
  const types = 'public_channel,private_channel,mpim,im';
  const { channels = [] } = await ask('users.conversations', signal, (client) =>
    client.users.conversations({ types, exclude_archived: true, limit: GAP.chatsMax }),
  );
  return channels.flatMap(({ id, context_team_id: team }) => (id === undefined ? [] : [{ id, team }]));
}

/** A chat, or a thread of it, from a time on. */
interface Span {
  channel: string;
  thread?: string;
  oldest: string;
  signal: AbortSignal;
}

async function readSince(ask: AskSlack, span: Span): Promise<SlackMessage[]> {
  const found: SlackMessage[] = [];
  try {
    for await (const { messages } of readPages(ask, span)) found.push(...messages);
  } catch (error) {
    // The bot was removed from the chat meanwhile, or may not read it.
    if (!(error instanceof PlatformError) || error.kind !== 'refused') throw error;
  }
  return found;
}

/**
 * Pages up to the bound, as Slack has them: of a chat the newest messages first, of a thread the
 * oldest.
 */
export async function* readPages(
  ask: AskSlack,
  { channel, thread, oldest, signal }: Span,
): AsyncGenerator<{ messages: SlackMessage[]; isLast: boolean }> {
  let cursor: string | undefined;
  for (let count = 0; count < GAP.messagesMax; count += PAGE) {
    const page = { channel, oldest, limit: PAGE, include_all_metadata: true, ...given({ cursor }) };
    const { messages = [], response_metadata: next } =
      thread === undefined
        ? await ask('conversations.history', signal, (client) => client.conversations.history(page))
        : await ask('conversations.replies', signal, (client) => client.conversations.replies({ ...page, ts: thread }));
    cursor = next?.next_cursor || undefined;
    // The messages of the history have the fields of those of events.
    yield { messages: messages as SlackMessage[], isLast: cursor === undefined };
    if (cursor === undefined) return;
  }
}

export function toTime(ms: number): string {
  return (ms / 1_000).toFixed(6);
}
