// The clock that gives up a call whose model has fallen silent. Everything that comes restarts it, pings included.
import { idleTimeoutMs } from '../../model/stream/stop-reasons.ts';
import type { OpenedTurn } from './opened-turn.ts';

/** The model said nothing for too long. */
export class ModelSilent extends Error {
  readonly code = 'model_idle_timeout';
  constructor(timeoutMs: number) {
    super(`The model sent nothing for ${timeoutMs / 1000} s.`);
    this.name = 'ModelSilent';
  }
}

/**
 * Aborts its signal with `ModelSilent` when it was not restarted for this long (0: never), or as soon as one of its parents aborts,
 * with that parent's reason. Stop it at the end of the call: until then it listens to its parents. (`AbortSignal.any` listens until it
 * is garbage collected, which is expensive with hundreds of calls.)
 */
export class IdleClock {
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout | null;
  readonly #parents: readonly AbortSignal[];

  constructor(timeoutMs: number, parents: readonly AbortSignal[]) {
    this.#parents = parents;
    for (const parent of parents) parent.addEventListener('abort', this.#follow);
    this.#timer = timeoutMs > 0 ? setTimeout(() => this.#abort.abort(new ModelSilent(timeoutMs)), timeoutMs) : null;
    this.#follow();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  restart(): void {
    this.#timer?.refresh();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#follow);
  }

  readonly #follow = (): void => {
    const aborted = this.#parents.find((parent) => parent.aborted);
    if (aborted !== undefined) this.#abort.abort(aborted.reason);
  };
}

/**
 * How long the model of a turn may be silent, in milliseconds; 0: as long as the turn may take. It is as long as the turn when answers
 * are not streamed: such a model sends nothing until it is done.
 */
export function chooseIdleTimeout(
  { agent, session, journal }: OpenedTurn,
  { isStreaming }: { isStreaming: boolean },
): number {
  if (!isStreaming) return 0;
  return idleTimeoutMs({
    limits: agent.llm,
    isCron: session.kind === 'cron' || journal.at.inputs[0]?.kind === 'cron',
    turnTimeoutSeconds: agent.timeoutSeconds,
  });
}
