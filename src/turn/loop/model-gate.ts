// Lets model calls through while their model answers. One per worker: it keeps what is known of each model since its last success, bounded by the
// number of models. All workers share what keeps calls back (store/governor/model-blocks.ts). It decides nothing by itself: core/model-outage.ts does.
import type { Clock } from '../../clock.ts';
import {
  admitCall,
  isAway,
  noteAway,
  noteFailure,
  type ModelTrouble,
  type ProbeBounds,
} from '../../core/model-outage.ts';
import { providerOf, refOfModel, type NamedModel } from '../../core/model-ref.ts';
import type { Model } from '../../model/model.ts';
import type { BlockedModel, ModelBlock, ProbeGrant } from '../../store/governor/model-blocks.ts';
import { keyOf } from './model-blocks.ts';

export interface ModelGateOptions {
  clock: Clock;
  random: () => number;
  bounds: ProbeBounds;
  accountOf: Model['accountOf'];
  /** Called when calls of a model are held back, with the time until the next probe and the last error; `isNews`: since now. Must not throw. */
  onAway: (model: BlockedModel, away: { probeInMs: number; text: string; isNews: boolean }) => void;
  /** Called when a model answers again whose calls were held back; `isOwn`: this worker has seen it. Must not throw. */
  onBack: (model: BlockedModel, back: { isOwn: boolean }) => void;
  /** Takes the probe for this worker, for so long. */
  takeProbe: (model: BlockedModel, forMs: number) => Promise<ProbeGrant>;
}

/** The right to make one call, released by exactly one of its ends; further ends do nothing. */
export interface Pass {
  kind: 'pass';
  provider: string;
  /** The provider has answered, if only that the request is wrong. */
  answered(): void;
  /**
   * The model is away. `isAway`: calls are held back now; `isNews`: since this
   * failure; `waitMs`: until the next probe, 0 while calls are still let through.
   */
  failed(retryAfterMs: number, text: string): { isAway: boolean; isNews: boolean; waitMs: number };
  /** The call says nothing of the model: it was broken off, or never made. */
  left(): void;
}

/** No call may be made before `waitMs` have passed. */
export interface ClosedGate {
  kind: 'closed';
  waitMs: number;
}

/** A worker that ends during its probe leaves it to another one after this time, in milliseconds. */
const PROBE_MS_MAX = 60_000;
/** Until this worker has read that another one probes, in milliseconds. */
const WAIT_MS_MIN = 250;

export class ModelGate {
  readonly #options: ModelGateOptions;
  readonly #troubles = new Map<string, ModelTrouble>();
  /** Until when this worker alone may probe, in monotonic milliseconds. */
  readonly #probesUntilMs = new Map<string, number>();

  constructor(options: ModelGateOptions) {
    this.#options = options;
  }

  /** Asks for a call of a session. Asks the database before a probe, and only then. */
  async enter(model: NamedModel, session: string): Promise<Pass | ClosedGate> {
    const blocked = this.#blockedOf(model);
    const key = keyOf(blocked);
    const trouble = this.#troubles.get(key) ?? null;
    const admission = admitCall(trouble, { session, nowMs: this.#options.clock.monotonicMs() });
    if (admission.kind === 'wait') return { kind: 'closed', waitMs: admission.ms };
    if (admission.kind === 'probe' && trouble !== null) {
      this.#troubles.set(key, { ...trouble, probing: session });
      const waitMs = await this.#waitForProbe(blocked, session);
      if (waitMs > 0) return { kind: 'closed', waitMs };
    }
    return this.#passOf(blocked, providerOf(model), session);
  }

  /** True when calls are not held back, or a probe may be made now. */
  isOpen(model: NamedModel): boolean {
    const trouble = this.#troubles.get(keyOf(this.#blockedOf(model))) ?? null;
    return admitCall(trouble, { session: '', nowMs: this.#options.clock.monotonicMs() }).kind !== 'wait';
  }

  /** Called for a turn that has begun to wait because it was not let through: the model may be back already. */
  waitsBehindProbe(model: NamedModel): void {
    const blocked = this.#blockedOf(model);
    if (!isAway(this.#troubles.get(keyOf(blocked)) ?? null)) this.#options.onBack(blocked, { isOwn: false });
  }

  /** Applies what the database returned: which models are away for all workers, and which are no longer. */
  learn(blocks: readonly ModelBlock[]): void {
    const nowMs = this.#options.clock.monotonicMs();
    const away = new Set<string>();
    for (const { account, model, probeInMs, isLifted } of blocks) {
      const key = keyOf({ account, model });
      if (isLifted === true) {
        if (this.#close(key)) this.#options.onBack({ account, model }, { isOwn: false });
      } else if (probeInMs !== null) {
        away.add(key);
        const isProbing = nowMs < (this.#probesUntilMs.get(key) ?? 0);
        this.#troubles.set(key, noteAway(this.#troubles.get(key) ?? null, isProbing ? nowMs : nowMs + probeInMs));
      }
    }
    // Its block has ended, or its provider has asked to wait, which holds it back as well.
    for (const [key, { isShared }] of this.#troubles) if (isShared && !away.has(key)) this.#close(key);
  }

  #blockedOf(model: NamedModel): BlockedModel {
    return { account: this.#options.accountOf(model), model: refOfModel(model) };
  }

  /** Lets all calls through; true: they were held back. A failure of one session alone stays noted. */
  #close(key: string): boolean {
    if (!isAway(this.#troubles.get(key) ?? null)) return false;
    this.#probesUntilMs.delete(key);
    return this.#troubles.delete(key);
  }

  /** How long the session has to wait because another worker probes, in milliseconds; 0: it may call. */
  async #waitForProbe(blocked: BlockedModel, session: string): Promise<number> {
    const { clock, takeProbe } = this.#options;
    const key = keyOf(blocked);
    if (clock.monotonicMs() < (this.#probesUntilMs.get(key) ?? 0)) return 0;
    try {
      const grant = await takeProbe(blocked, PROBE_MS_MAX);
      if (grant.kind === 'taken') this.#probesUntilMs.set(key, clock.monotonicMs() + PROBE_MS_MAX);
      if (grant.kind !== 'wait') return 0;
      const waitMs = Math.max(WAIT_MS_MIN, grant.waitMs);
      this.#troubles.set(key, noteAway(this.#troubles.get(key) ?? null, clock.monotonicMs() + waitMs));
      this.#leaveProbe(key, session);
      return waitMs;
    } catch (error) {
      this.#leaveProbe(key, session);
      throw error;
    }
  }

  #leaveProbe(key: string, session: string): void {
    const trouble = this.#troubles.get(key);
    if (trouble?.probing === session) this.#troubles.set(key, { ...trouble, probing: null });
  }

  #passOf(blocked: BlockedModel, provider: string, session: string): Pass {
    const { clock, random, bounds, onAway, onBack } = this.#options;
    const key = keyOf(blocked);
    let isOver = false;
    const once = (): boolean => {
      const isFirst = !isOver;
      isOver = true;
      return isFirst;
    };
    return {
      kind: 'pass',
      provider,
      answered: () => {
        if (!once()) return;
        const wasAway = this.#close(key);
        this.#troubles.delete(key);
        if (wasAway) onBack(blocked, { isOwn: true });
      },
      failed: (retryAfterMs, text) => {
        const before = this.#troubles.get(key) ?? null;
        if (!once()) return { isAway: isAway(before), isNews: false, waitMs: 0 };
        const nowMs = clock.monotonicMs();
        const after = noteFailure(before, { session, nowMs, retryAfterMs, random: random() }, bounds);
        this.#troubles.set(key, after);
        const away = isAway(after);
        const isNews = away && !isAway(before);
        const waitMs = away ? Math.max(0, after.probeAtMs - nowMs) : 0;
        if (before?.probing === session) this.#probesUntilMs.delete(key);
        if (away && after.probeAtMs !== before?.probeAtMs) onAway(blocked, { probeInMs: waitMs, text, isNews });
        return { isAway: away, isNews, waitMs };
      },
      left: () => {
        if (once()) this.#leaveProbe(key, session);
      },
    };
  }
}
