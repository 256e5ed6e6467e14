// Live events for the command line: those of the typed client, in the form that commands print,
// with a bound on how long a service may be away.
import type { ClientEvent, EventHooks } from '../client/create-client.ts';
import { CliError, EXIT } from './cli-error.ts';

/**
 * Consecutive attempts without an event. The waits between them add up to half a minute to a
 * minute.
 */
const RECONNECTS_MAX = 6;

export interface StreamedEvent {
  id: string;
  type: string;
  sessionKey: string | null;
  turnId: string | null;
  /** When it was written, ISO 8601; null when the service does not say. */
  at: string | null;
  /** Its own fields. */
  data: Record<string, unknown>;
}

export interface WatchOptions {
  signal: AbortSignal;
  /**
   * Called when the service has begun to answer for the first time: from here on nothing is missed.
   */
  onOpen?: () => void;
  /** Called before each new attempt after the stream broke. */
  onReconnect?: () => void;
  /** Called when the stream is open again. */
  onReopen?: () => void;
  /** Called when events after the last one were deleted: some were missed. */
  onReset?: () => void;
  /** The maximum of consecutive attempts without an event. */
  reconnectsMax?: number;
}

/**
 * The events of a stream, until the signal aborts (then it simply ends). `open` is given the hooks
 * of the stream. Throws when the first attempt fails, and when the service was away for too long.
 */
export async function* watchEvents(
  open: (hooks: EventHooks) => AsyncIterable<ClientEvent>,
  { signal, onOpen, onReconnect, onReopen, onReset, reconnectsMax = RECONNECTS_MAX }: WatchOptions,
): AsyncGenerator<StreamedEvent> {
  let wasOpen = false;
  const events = open({
    signal,
    onOpen() {
      if (wasOpen) onReopen?.();
      else onOpen?.();
      wasOpen = true;
    },
    onBreak({ error, attempts }) {
      if (!wasOpen || attempts > reconnectsMax) throw error ?? streamEnded();
      onReconnect?.();
    },
  });
  for await (const event of events) {
    if (event.type === 'reset') onReset?.();
    else yield streamedEvent(event);
  }
}

function streamEnded(): CliError {
  return new CliError({
    code: 'service_unreachable',
    exitCode: EXIT.cannotReach,
    message: 'the service ends the stream of events each time it is opened',
    fix: 'check that the service runs; "holdfast doctor" gives details',
  });
}

/** The fields of an event are its own and those of every event. */
function streamedEvent({
  id,
  type,
  sessionKey,
  turnId,
  at,
  ...data
}: Exclude<ClientEvent, { type: 'reset' }>): StreamedEvent {
  return { id, type, sessionKey, turnId, at, data };
}
