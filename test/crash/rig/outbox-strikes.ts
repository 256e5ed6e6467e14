// Faults that strike relays while they send to chats: a relay is killed or frozen before its
// request, between the request and the answer, or after it. The parts that it was sending are
// noted: only these may be doubled on a platform that cannot say what it was sent.
import type { RecordedCall } from '../../../scripted-platform/call-log.ts';
import type { BarChannel } from '../../features/channels/bars/bar-channel.ts';
import { changeChannelGates } from '../../rows/channel-gates.ts';
import { changeDeliveries, readDeliveries } from '../../rows/deliveries.ts';
import { above, ago, ahead, like, now } from '../../rows/table.ts';
import { emptyQueue } from '../../servers/empty-queue.ts';
import type { HeldBytes } from '../../servers/round-trips.ts';
import type { CrashRig } from './crash-rig.ts';
import { kindOf } from './statement-kinds.ts';
import type { Victim } from './victim.ts';
import { waitUntil } from './wait-until.ts';

/**
 * Where a relay is struck: at a statement, or when the platform has its request, which the platform
 * then carries out or not.
 */
export type OutboxPoint =
  | { at: 'statement'; kind: string; when: 'before' | 'after'; fault: 'kill' | 'freeze' }
  | { at: 'request'; isAccepted: boolean; fault: 'kill' | 'freeze' }
  /** The relay lives, but has no answer. */
  | { at: 'request'; isAccepted: boolean; fault: 'cut' };

type IsOver = (channel?: BarChannel) => Promise<boolean>;

const STATEMENTS = ['claim-part', 'divide-delivery', 'settle-delivery'];
const SOON_MS = 240_000;

/** Each place once, with every fault. */
export function everyOutboxPoint(faults: readonly OutboxPoint['fault'][]): OutboxPoint[] {
  return faults.flatMap((fault) => {
    const requests = [true, false].map((isAccepted): OutboxPoint => ({ at: 'request', isAccepted, fault }));
    if (fault === 'cut') return requests;
    const statements = STATEMENTS.flatMap((kind) =>
      (['before', 'after'] as const).map((when): OutboxPoint => ({ at: 'statement', kind, when, fault })),
    );
    return [...requests, ...statements];
  });
}

/** The marks of parts begin their texts: `c0r12p3`. */
export function markOf(text: string): string {
  return /^c\d+r\d+p\d+/.exec(text)?.[0] ?? '';
}

export class OutboxStrikes {
  /** How often each part was being sent when its relay was struck. */
  readonly inBetween = new Map<string, number>();
  /**
   * The parts that a relay had when it was frozen: it can send what it was about to send when it
   * wakes, after another relay has.
   */
  readonly held = new Set<string>();
  struck = 0;
  /**
   * Of the queue: the leases of a dead relay end at once, and so does its hold on jobs. Those of a
   * frozen one must not: it stops by its own clock. Null: what the dead held is over in its time.
   */
  readonly #quickly: string | null;
  readonly #rig: CrashRig;
  readonly #channels: readonly BarChannel[];
  readonly #dead: number[] = [];
  #frozen = 0;
  readonly #expired = new Set<string>();
  #onRequest: ((channel: BarChannel, call: RecordedCall, mark: string) => Promise<void>) | null = null;

  constructor(rig: CrashRig, channels: readonly BarChannel[], quickly: string | null) {
    this.#rig = rig;
    this.#channels = channels;
    this.#quickly = quickly;
  }

  /** For the platforms: called with each call before it is carried out. */
  async onCall(call: RecordedCall): Promise<void> {
    const hit = this.#onRequest;
    if (hit === null) return;
    for (const [index, channel] of this.#channels.entries()) {
      const mark = markOf(channel.textOf(call) ?? '');
      if (mark.startsWith(`c${index}r`)) return hit(channel, call, mark);
    }
  }

  /**
   * Strikes the points one after the other; `isOver`: nothing is left to send to a channel, or to
   * any.
   */
  async strikeAll(points: readonly OutboxPoint[], isOver: IsOver): Promise<void> {
    // Of one channel after the other, two requests are struck: one that is carried out, and one
    // that is not.
    let requests = 0;
    for (const point of points) {
      // One relay is awake, and takes over from the others.
      await waitUntil('a frozen relay wakes', SOON_MS, () => this.#frozen < this.#rig.workers.length - 1);
      const target = this.#channels[Math.floor(requests / 2) % this.#channels.length]!;
      if (await this.#strike(point, target, isOver)) this.struck += 1;
      if (point.at === 'request') requests += 1;
    }
  }

  /**
   * Ends the leases of relays that were killed: the database may carry out the last statement of
   * one after its death.
   */
  async expireDead(): Promise<void> {
    if (this.#quickly === null || this.#dead.length === 0) return;
    const owned = await Promise.all(this.#dead.map((pid) => this.#readParts(pid)));
    await this.#expire(owned.flat());
  }

  /** Requests are struck that are sent to one channel. */
  async #strike(point: OutboxPoint, target: BarChannel, isOver: IsOver): Promise<boolean> {
    const hit = Promise.withResolvers<void>();
    let isHit = false;
    const take = (): boolean => !isHit && (isHit = true);
    const disarm =
      point.at === 'statement'
        ? this.#armStatement(point, take, hit)
        : this.#armRequest(point, { target, take, done: hit });
    await waitUntil('a relay is struck, or nothing is left', SOON_MS, async () => {
      await this.expireDead();
      return isHit || (await isOver(point.at === 'request' ? target : undefined));
    });
    disarm();
    if (isHit) await hit.promise;
    return isHit;
  }

  #armStatement(
    { kind, when, fault }: Extract<OutboxPoint, { at: 'statement' }>,
    take: () => boolean,
    done: PromiseWithResolvers<void>,
  ): () => void {
    const armed = this.#rig.workers.map((worker) =>
      worker.proxy.arm({
        when,
        at: 1,
        matches: (trip) => trip.label.startsWith('holdfast:') && kindOf(trip) === kind,
        hit: async (): Promise<HeldBytes> => {
          if (!take()) return 'forward';
          const struck = this.#hit(worker, fault);
          void struck.then(done.resolve, done.reject);
          await struck;
          return fault === 'kill' ? 'drop' : 'forward';
        },
      }),
    );
    return () => armed.forEach((one) => one.disarm());
  }

  #armRequest(
    { isAccepted, fault }: Extract<OutboxPoint, { at: 'request' }>,
    { target, take, done }: { target: BarChannel; take: () => boolean; done: PromiseWithResolvers<void> },
  ): () => void {
    this.#onRequest = async (channel, call, mark) => {
      if (channel !== target || !take()) return;
      const { chat, method } = call;
      const kind = isAccepted ? 'accept-then-close' : 'close';
      channel.server.faults.arm({ kind, method, ...(chat !== null && { chat }) });
      try {
        if (fault === 'cut') await this.#cut(call, mark);
        else await this.#hit(await this.#relayOf(mark), fault);
        done.resolve();
      } catch (error) {
        done.reject(error);
      }
    };
    return () => (this.#onRequest = null);
  }

  /**
   * A relay that has no answer leaves the part claimed where the platform can be asked, until its
   * lease is over.
   */
  async #cut(call: RecordedCall, mark: string): Promise<void> {
    this.#note([mark]);
    const rows = await readDeliveries(
      this.#rig.database,
      { text: like(`${mark} %`), status: 'sending' },
      'id',
      'owner',
      'target',
    );
    if (this.#quickly === null) return;
    const isOver = (): boolean => call.isDone || call.fault === 'close';
    void waitUntil('the platform has closed the connection', SOON_MS, isOver).then(() => this.#expire(rows));
  }

  async #relayOf(mark: string): Promise<Victim> {
    const [row] = await readDeliveries(this.#rig.database, { text: like(`${mark} %`), status: 'sending' }, 'owner');
    const worker = this.#rig.workers.find(({ service }) => row?.owner?.split(':')[1] === String(service.pid));
    if (worker === undefined) throw new Error(`No worker sends ${mark}: its owner is ${row?.owner}`);
    return worker;
  }

  async #hit(worker: Victim, fault: 'kill' | 'freeze'): Promise<void> {
    const { pid } = worker.service;
    if (fault === 'kill') await worker.kill();
    else worker.freeze();
    const parts = await this.#readParts(pid);
    const marks = parts.filter(({ parts: count }) => count > 0).map(({ text }) => markOf(text ?? ''));
    this.#note(marks);
    if (fault === 'kill') {
      this.#dead.push(pid);
      await this.expireDead();
      if (this.#quickly !== null) await emptyQueue(this.#quickly);
      return void worker.revive().catch(() => undefined);
    }
    for (const mark of marks) this.held.add(mark);
    // It wakes when others have carried on with what it was sending.
    const ids = parts.map(({ id }) => id);
    this.#frozen += 1;
    void waitUntil('the parts of a frozen relay are taken over', SOON_MS, async () => {
      const rows = await readDeliveries(this.#rig.database, { id: ids }, 'owner', 'status');
      return rows.every(({ owner }) => owner === null || owner.split(':')[1] !== String(pid));
    }).finally(() => {
      worker.thaw();
      this.#frozen -= 1;
    });
  }

  #readParts(pid: number) {
    const owned = { owner: like(`%:${pid}:%`), status: 'sending' };
    return readDeliveries(this.#rig.database, owned, 'id', 'owner', 'text', 'parts', 'target');
  }

  async #expire(owned: readonly { id: string; owner: string | null; target: unknown }[]): Promise<void> {
    const { database } = this.#rig;
    const parts = owned.filter(({ owner }) => owner !== null && !this.#expired.has(owner));
    for (const { owner } of parts) this.#expired.add(owner ?? '');
    const places = parts.map(({ target }) => (target as { url: string }).url.slice('channel:'.length));
    // A part whose relays died twice waits for minutes.
    await changeDeliveries(database, { status: 'pending', dueAt: above(ahead('3 seconds')) }, { dueAt: now });
    if (parts.length === 0) return;
    await changeDeliveries(database, { id: parts.map(({ id }) => id), status: 'sending' }, { leaseExpiresAt: now });
    await changeChannelGates(database, { place: places }, { nextAt: ago('1 second') });
  }

  #note(marks: readonly string[]): void {
    for (const mark of marks) this.inBetween.set(mark, (this.inBetween.get(mark) ?? 0) + 1);
  }
}
