// One stream of events for all tabs of a browser: the tab that holds a lock reads it and passes each event to the others. When that tab is
// closed, the next one gets the lock and continues after the last id that it has seen.
import { api, isSignedOut } from '../api.ts';
import type { ClientEvent } from '../../../src/client/create-client.ts';

const LOCK = 'holdfast.events';
const CHANNEL = 'holdfast.events';

/** All types but the pieces of text, which only an open turn wants. */
const TYPES = [
  'message.accepted',
  'message.settled',
  'turn.started',
  'turn.parked',
  'turn.resumed',
  'turn.ended',
  'tool.ended',
  'model.ended',
  'compaction.ended',
  'delivery.sent',
  'delivery.failed',
  'cron.fired',
  'heartbeat.fired',
  'session.reset',
  'batch.created',
  'batch.progress',
  'batch.paused',
  'batch.resumed',
  'batch.ended',
  'budget.warned',
  'budget.reached',
  'bulk.progress',
] as const;

/** What the stream of this browser is like now. */
export type StreamState = 'connecting' | 'open' | 'broken' | 'signed-out';

type Told = { kind: 'event'; event: ClientEvent } | { kind: 'state'; state: StreamState };

export interface Listener {
  onEvent: (event: ClientEvent) => void;
  onState: (state: StreamState) => void;
}

/** Follows the events of the service until the signal says otherwise. */
export function followEvents({ onEvent, onState }: Listener, signal: AbortSignal): void {
  const channel = new BroadcastChannel(CHANNEL);
  let lastId: string | undefined;

  function take(told: Told): void {
    if (told.kind === 'state') return onState(told.state);
    if (told.event.id !== null) lastId = told.event.id;
    onEvent(told.event);
  }

  channel.addEventListener('message', ({ data }: MessageEvent<Told>) => take(data));
  signal.addEventListener('abort', () => channel.close(), { once: true });

  const tell = (told: Told): void => {
    if (signal.aborted) return;
    channel.postMessage(told);
    take(told);
  };

  async function lead(): Promise<void> {
    tell({ kind: 'state', state: 'connecting' });
    try {
      const stream = api.events({
        types: TYPES,
        after: lastId,
        signal,
        onOpen: () => tell({ kind: 'state', state: 'open' }),
        onBreak: ({ error }) => tell({ kind: 'state', state: isSignedOut(error) ? 'signed-out' : 'broken' }),
      });
      for await (const event of stream) tell({ kind: 'event', event });
    } catch (error) {
      tell({ kind: 'state', state: isSignedOut(error) ? 'signed-out' : 'broken' });
    }
  }

  // Pages that did not come over TLS or from this machine have no locks: each of their tabs reads for itself.
  if (!('locks' in navigator)) void lead();
  else navigator.locks.request(LOCK, { signal }, lead).catch(() => undefined);
}
