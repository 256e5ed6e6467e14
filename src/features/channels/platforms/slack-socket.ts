// The socket of Slack. An envelope is acknowledged when what it says is committed; Slack sends one that is not acknowledged again.
import { SocketModeClient } from '@slack/socket-mode';
import { orAborted } from '../../../clock.ts';
import { type Received, PlatformError } from '../platform.ts';
import { readInteraction } from './slack-events.ts';
import { clientOptions, fetchUntil, SILENT, toPlatformError } from './slack-wire.ts';

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

/** Resolves when Slack closes the socket, which it does every few hours, or at `signal`; rejects when a commit has, or with `PlatformError`. */
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
