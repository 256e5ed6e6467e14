// The socket of Slack. An envelope is acknowledged when what it says is committed; Slack sends one that is not acknowledged again.
import { SocketModeClient } from '@slack/socket-mode';
import type { Received } from '../platform.ts';
import { PlatformError } from '../platform.ts';
import { readInteraction } from './slack-events.ts';
import { clientOptions, SILENT, toPlatformError } from './slack-wire.ts';

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
}

/** Resolves when Slack closes the socket, which it does every few hours, or at `signal`; rejects when a commit has, or with `PlatformError`. */
export async function listenToSocket(listening: Listening): Promise<void> {
  const { appToken, baseUrl, readEvent, readMissed, commit, signal } = listening;
  const { logger: _logger, ...options } = clientOptions(baseUrl);
  const client = new SocketModeClient({
    appToken,
    autoReconnectEnabled: false,
    logger: SILENT,
    clientOptions: options,
  });
  const closed = Promise.withResolvers<void>();
  const gapRead = Promise.withResolvers<void>();
  // They can reject before they are awaited.
  for (const { promise } of [closed, gapRead]) promise.catch(() => undefined);
  let { position } = listening;

  const positionAfter = (received: Received[], before: string | null): string | null => {
    const newest = Math.max(Number(before ?? 0), ...received.map((said) => ('at' in said ? said.at / 1_000 : 0)));
    return newest === 0 ? before : newest.toFixed(6);
  };

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
    await client.start();
    if (position !== null) await commitGap(position);
    gapRead.resolve();
    await closed.promise;
  } catch (error) {
    gapRead.reject(error);
    throw asFault(error);
  } finally {
    signal.removeEventListener('abort', stop);
    client.removeAllListeners('slack_event');
    // What is being committed ends before the account is released.
    await queue.catch(() => undefined);
    await client.disconnect().catch(() => undefined);
  }
}

function asFault(error: unknown): unknown {
  // A socket that is closed before it is greeted has no error.
  if (error === undefined) return new PlatformError('later', 'Slack closed the socket before it was open');
  return toPlatformError('apps.connections.open', error);
}
