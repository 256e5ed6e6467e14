// The interface of the doorbell: what can be rung, and where. A ring carries ids only and means "check this session"; all
// facts are rows, so a ring that is lost or repeated changes only the time.
import type { Lane } from '../src/config.ts';
import type { SessionId } from '../src/core/ids.ts';

/** A queue per lane, and one for replies on their way out. */
export type QueueName = Lane | 'deliver';

/** Why a session must be checked. Each needs a turn of the session. */
type TurnRingKind = 'inbound' | 'cron' | 'heartbeat' | 'announce' | 'followup';

export type RingKind = TurnRingKind | 'deliver';

/** A session has work: the lane's next free worker checks it. */
export interface TurnRing {
  kind: TurnRingKind;
  lane: Lane;
  sessionId: SessionId;
  /** The ring's number within its session: the same number is the same ring, however often it is rung. */
  ringNo: number;
}

/** A session has replies to deliver. Deliveries have a queue of their own, for sessions of all lanes. */
export interface DeliveryRing {
  kind: 'deliver';
  lane?: Lane;
  sessionId: SessionId;
  ringNo: number;
}

export type Ring = TurnRing | DeliveryRing;

// A record, so that the compiler finds a lane that is missing here.
const QUEUES: Record<QueueName, true> = { main: true, subagent: true, cron: true, batch: true, deliver: true };

/** Every queue there is. */
export const QUEUE_NAMES: readonly QueueName[] = Object.keys(QUEUES) as QueueName[];

/** How many jobs a queue holds. `active` also counts those of a crashed worker, until they are found stalled. */
export interface QueueDepth {
  waiting: number;
  active: number;
  delayed: number;
}

/** Rings for sessions that have work. The caller has committed that work before: a ring can be lost, the work cannot. */
export interface Doorbell {
  /**
   * Rings, and resolves when that succeeded or failed. Never rejects and never takes longer than its bound: a failed
   * ring is logged, and the reconciler sends it again. Rings that arrive together are sent together.
   */
  ring(rings: readonly Ring[]): Promise<void>;
  /** How many jobs each queue holds now. Rejects when the queue cannot be asked. */
  depth(): Promise<Record<QueueName, QueueDepth>>;
  /** Sends the waiting rings, within the same bound. Later rings are dropped. */
  close(): Promise<void>;
}
