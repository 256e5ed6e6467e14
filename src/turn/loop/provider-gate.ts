// Lets model calls through while their provider answers. One per worker: it keeps what is known of each provider since its last success,
// bounded by the number of providers. It decides nothing by itself: core/model-outage.ts does.
import type { Clock } from '../../clock.ts';
import { admitCall, isAway, noteFailure, type ProbeBounds, type ProviderTrouble } from '../../core/model-outage.ts';

export interface ProviderGateOptions {
  clock: Clock;
  random: () => number;
  bounds: ProbeBounds;
  /** Called when calls of a provider are held back from now on. Must not throw. */
  onAway: (provider: string) => void;
  /** Called when a provider answers again whose calls were held back. Must not throw. */
  onBack: (provider: string) => void;
}

/** The right to make one call, released by exactly one of its ends; further ends do nothing. */
export interface Pass {
  kind: 'pass';
  provider: string;
  /** The provider has answered, if only that the request is wrong. */
  answered(): void;
  /**
   * The provider is away. `isAway`: calls are held back now; `isNews`: since this
   * failure; `waitMs`: until the next probe, 0 while calls are still let through.
   */
  failed(retryAfterMs: number): { isAway: boolean; isNews: boolean; waitMs: number };
  /** The call says nothing of the provider: it was broken off, or never made. */
  left(): void;
}

export class ProviderGate {
  readonly #options: ProviderGateOptions;
  readonly #troubles = new Map<string, ProviderTrouble>();

  constructor(options: ProviderGateOptions) {
    this.#options = options;
  }

  /** Asks for a call of a session; `closed`: none may be made before `waitMs` have passed. */
  enter(
    provider: string,
    { session, isWoken }: { session: string; isWoken: boolean },
  ): Pass | { kind: 'closed'; waitMs: number } {
    const { clock } = this.#options;
    const trouble = this.#troubles.get(provider) ?? null;
    const admission = admitCall(trouble, { session, isWoken, nowMs: clock.monotonicMs() });
    if (admission.kind === 'wait') return { kind: 'closed', waitMs: admission.ms };
    if (admission.kind === 'probe' && trouble !== null) this.#troubles.set(provider, { ...trouble, probing: session });
    return this.#passOf(provider, session);
  }

  /** True when calls are not held back, or a probe may be made now. */
  isOpen(provider: string): boolean {
    const trouble = this.#troubles.get(provider) ?? null;
    return admitCall(trouble, { session: '', nowMs: this.#options.clock.monotonicMs() }).kind !== 'wait';
  }

  /** Called for a turn that has begun to wait because it was not let through: the provider may be back already. */
  waitsBehindProbe(provider: string): void {
    if (!isAway(this.#troubles.get(provider) ?? null)) this.#options.onBack(provider);
  }

  #passOf(provider: string, session: string): Pass {
    const { clock, random, bounds, onAway, onBack } = this.#options;
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
        const wasAway = isAway(this.#troubles.get(provider) ?? null);
        this.#troubles.delete(provider);
        if (wasAway) onBack(provider);
      },
      failed: (retryAfterMs) => {
        const before = this.#troubles.get(provider) ?? null;
        if (!once()) return { isAway: isAway(before), isNews: false, waitMs: 0 };
        const nowMs = clock.monotonicMs();
        const after = noteFailure(before, { session, nowMs, retryAfterMs, random: random() }, bounds);
        this.#troubles.set(provider, after);
        const away = isAway(after);
        if (away && !isAway(before)) onAway(provider);
        return {
          isAway: away,
          isNews: away && !isAway(before),
          waitMs: away ? Math.max(0, after.probeAtMs - nowMs) : 0,
        };
      },
      left: () => {
        if (!once()) return;
        const trouble = this.#troubles.get(provider);
        if (trouble?.probing === session) this.#troubles.set(provider, { ...trouble, probing: null });
      },
    };
  }
}
