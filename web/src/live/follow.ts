// One stream of events for all tabs of a browser: the tab that holds a lock reads it and passes
// each event to the others. When that tab is closed, the next one gets the lock and continues after
// the last id that it has seen.
import { api, isSignedOut } from '../api.ts';
import type { ClientEvent } from '../../../src/client/create-client.ts';

const LOCK = 'holdfast.events';
const CHANNEL = 'holdfast.events';

/** All types except text deltas, which only an open turn needs. */
const TYPES = [
  'message.accepted',
  'message.settled',
  'turn.started',
  'turn.parked',
  'turn.resumed',
  'turn.ended',
  'tool.ended',
  'canvas.presented',
  'approval.requested',
  'approval.decided',
  'model.ended',
  'compaction.ended',
  'delivery.sent',
  'delivery.failed',
  'delivery.unknown',
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
  'mcp.connected',
  'mcp.lost',
  'pairing.requested',
  'channel.connected',
  'channel.lost',
  'worker.started',
  'worker.lost',
  'worker.drained',
] as const;

/** The current state of this browser's stream. */
export type StreamState = 'connecting' | 'open' | 'broken' | 'signed-out';

/**
 * The message of the tab that reads the stream to the others. A tab that is opened later has not
 * seen the last id.
 */
type Report = { kind: 'event'; event: ClientEvent } | { kind: 'state'; state: StreamState; lastId: string | undefined };

/**
 * The message of a newly opened tab: the reading tab answers with the state of the stream, which
 * may not change for hours.
 */
interface Joined {
  kind: 'joined';
}

export interface Listener {
  onEvent: (event: ClientEvent) => void;
  onState: (state: StreamState) => void;
}

/** Follows the events of the service until the signal says otherwise. */
export function followEvents({ onEvent, onState }: Listener, signal: AbortSignal): void {
  const channel = new BroadcastChannel(CHANNEL);
  let lastId: string | undefined;
  /** null: another tab reads the stream. */
  let ownState: StreamState | null = null;

  function take(report: Report): void {
    if (report.kind === 'state') {
      lastId = report.lastId ?? lastId;
      return onState(report.state);
    }
    if (report.event.id !== null) lastId = report.event.id;
    onEvent(report.event);
  }

  channel.addEventListener('message', ({ data }: MessageEvent<Report | Joined>) => {
    if (data.kind !== 'joined') return take(data);
    if (ownState !== null) channel.postMessage({ kind: 'state', state: ownState, lastId } satisfies Report);
  });
  channel.postMessage({ kind: 'joined' } satisfies Joined);
  signal.addEventListener('abort', () => channel.close(), { once: true });

  const publish = (report: Report): void => {
    if (signal.aborted) return;
    channel.postMessage(report);
    take(report);
  };
  const publishState = (state: StreamState): void => {
    ownState = state;
    publish({ kind: 'state', state, lastId });
  };

  async function lead(): Promise<void> {
    publishState('connecting');
    try {
      const stream = api.events({
        types: TYPES,
        after: lastId,
        signal,
        onOpen: () => publishState('open'),
        onBreak: ({ error }) => publishState(isSignedOut(error) ? 'signed-out' : 'broken'),
      });
      for await (const event of stream) publish({ kind: 'event', event });
    } catch (error) {
      publishState(isSignedOut(error) ? 'signed-out' : 'broken');
    } finally {
      // The lock is released: from now on another tab reads.
      ownState = null;
    }
  }

  // Pages that did not come over TLS or from this machine have no locks: each of their tabs reads
  // for itself.
  if (!('locks' in navigator)) void lead();
  else navigator.locks.request(LOCK, { signal }, lead).catch(() => undefined);
}
