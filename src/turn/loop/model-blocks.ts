// The models that this worker must not call for a time, because their provider has asked to wait. One per worker; bounded by the number of
// models. A block is written to the database by the worker that meets it, and learned by the others with their claims and their check for stop
// reasons (store/governor/model-blocks.ts).
import type { Clock } from '../../clock.ts';
import { refOfModel, type NamedModel } from '../../core/model-ref.ts';
import type { Model } from '../../model/model.ts';
import type { BlockedModel, ModelBlock } from '../../store/governor/model-blocks.ts';

export interface ModelBlocksOptions {
  clock: Clock;
  accountOf: Model['accountOf'];
  /** Writes a block for the other workers, with what the provider said. */
  write: (block: ModelBlock, detail: string) => Promise<void>;
  /** Called with each block that is learned, also with one that is known or lifted. Must not throw. */
  onBlock: (block: ModelBlock) => void;
}

export class ModelBlocks {
  readonly #options: ModelBlocksOptions;
  /** By account and model, when the block ends, in monotonic milliseconds. */
  readonly #untilMs = new Map<string, number>();

  constructor(options: ModelBlocksOptions) {
    this.#options = options;
  }

  /** How long the model must not be called, in milliseconds; 0: it may be called. */
  leftMs(model: NamedModel): number {
    const key = keyOf({ account: this.#options.accountOf(model), model: refOfModel(model) });
    const leftMs = (this.#untilMs.get(key) ?? 0) - this.#options.clock.monotonicMs();
    if (leftMs > 0) return leftMs;
    this.#untilMs.delete(key);
    return 0;
  }

  /** Blocks a model in all workers. Resolves with true when it was not blocked in this one before. */
  async add(model: NamedModel, leftMs: number, detail: string): Promise<boolean> {
    const isNews = this.leftMs(model) === 0;
    const block = { account: this.#options.accountOf(model), model: refOfModel(model), leftMs, probeInMs: null };
    this.learn([block]);
    await this.#options.write(block, detail);
    return isNews;
  }

  /**
   * Applies the blocks that the database returned. A block never becomes shorter, because an answer may be older than a block of this worker; one
   * that was lifted ends.
   */
  learn(blocks: readonly ModelBlock[]): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const block of blocks) {
      const key = keyOf(block);
      this.#options.onBlock(block);
      // A model that is away is held back by its gate.
      if (block.isLifted === true || block.probeInMs !== null) this.#untilMs.delete(key);
      else this.#untilMs.set(key, Math.max(this.#untilMs.get(key) ?? 0, nowMs + block.leftMs));
    }
  }
}

export function keyOf({ account, model }: BlockedModel): string {
  return `${account} ${model}`;
}
