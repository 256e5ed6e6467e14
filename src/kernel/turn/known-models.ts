// What one worker knows of the models that it asks: for each account and model, until when it is blocked, and how far it is away. A provider with several
// keys has an account for each, and one more state for all models of a key.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../clock.ts';
import { refOfModel, type NamedModel } from '../../core/model-ref.ts';
import { isForGood } from '../../core/provider-keys.ts';
import type { ModelTraits } from '../../core/model-traits.ts';
import type { Model } from '../../model/model.ts';
import { checkCall, isAway, type CallCheck, type ModelTrouble } from '../rules/model-outage.ts';
import { ALL_MODELS, type BlockedModel, type ModelBlock } from '../queue/model-blocks.ts';

/** The largest number of models that a worker knows; those that were asked last stay. */
const MODELS_MAX = 1_000;
/** What this worker itself has stored about a model is not overruled for this long by what was read before, in milliseconds. */
export const STORED_MS = 1_000;

/** What is known of a model. */
export interface ModelState extends BlockedModel {
  /** When its block ends, in monotonic milliseconds. */
  blockedUntilMs: number;
  trouble: ModelTrouble | null;
  /** Until when this worker alone may probe it, in monotonic milliseconds. */
  probesUntilMs: number;
  /** Until when what is read about it may be of before this worker has stored its state, in monotonic milliseconds. */
  storedUntilMs: number;
  /** What its server has said about it by refusing requests. */
  traits: ModelTraits;
}

export class KnownModels {
  readonly #clock: Clock;
  readonly #model: Pick<Model, 'accountOf' | 'keysOf'>;
  /** By account and model. */
  readonly #known = new LRUCache<string, ModelState>({ max: MODELS_MAX });

  constructor({ clock, model }: { clock: Clock; model: Pick<Model, 'accountOf' | 'keysOf'> }) {
    this.#clock = clock;
    this.#model = model;
  }

  nowMs(): number {
    return this.#clock.monotonicMs();
  }

  all(): Iterable<ModelState> {
    return this.#known.values();
  }

  of({ account, model }: BlockedModel): ModelState {
    const key = `${account} ${model}`;
    const fresh = { account, model, blockedUntilMs: 0, trouble: null, probesUntilMs: 0, storedUntilMs: 0, traits: {} };
    const known = this.#known.get(key) ?? fresh;
    this.#known.set(key, known);
    return known;
  }

  find(model: NamedModel): ModelState {
    return this.of({ account: this.#model.accountOf(model), model: refOfModel(model) });
  }

  /** What holds back calls of a model: its own state, and before it that of its key, where its provider has several. */
  findAll(model: NamedModel): ModelState[] {
    const own = this.find(model);
    if (this.#model.keysOf(model).length < 2) return [own];
    return [this.of({ account: own.account, model: refOfModel({ ...model, model: ALL_MODELS }) }), own];
  }

  /** Takes over which traits are stored. They end when a person lifts the blocks of a model, or after their time. */
  readTraits(blocks: readonly ModelBlock[]): void {
    const nowMs = this.nowMs();
    for (const known of this.all()) if (nowMs >= known.storedUntilMs) known.traits = {};
    for (const block of blocks) {
      const known = this.of(block);
      if (nowMs >= known.storedUntilMs) known.traits = block.traits ?? {};
    }
  }

  /** Notes the traits of a model, and returns it if they are news, to be stored. */
  noteTraits(model: NamedModel, traits: ModelTraits): ModelState | null {
    const known = this.find(model);
    const isNews = Object.entries(traits).some(([name, value]) => known.traits[name as keyof ModelTraits] !== value);
    if (!isNews) return null;
    known.traits = traits;
    known.storedUntilMs = this.nowMs() + STORED_MS;
    return known;
  }

  check({ trouble }: ModelState, session: string): CallCheck {
    return checkCall(trouble, { session, nowMs: this.nowMs() });
  }

  /** How long the model is still blocked, in milliseconds; 0: it is not. */
  blockedMs(model: NamedModel): number {
    return Math.max(0, this.find(model).blockedUntilMs - this.nowMs());
  }

  /** How long calls of the model by its key are held back, in milliseconds; 0: they are not. */
  heldMs(model: NamedModel): number {
    const waits = this.findAll(model).map((known) => this.check(known, ''));
    return Math.max(this.blockedMs(model), ...waits.map((wait) => (wait.kind === 'wait' ? Math.max(1, wait.ms) : 0)));
  }

  /** The same of each key of its provider. */
  heldMsOfKeys({ key: _key, ...model }: NamedModel): number[] {
    return this.#model.keysOf(model).map(({ name }) => this.heldMs({ ...model, key: name }));
  }

  /** True when the provider has refused all keys of a model. */
  areRefused(model: NamedModel): boolean {
    return this.heldMsOfKeys(model).every(isForGood);
  }
}

export function extendBlock(known: ModelState, untilMs: number): void {
  known.blockedUntilMs = Math.max(known.blockedUntilMs, untilMs);
}

export function leaveProbe(known: ModelState, session: string): void {
  if (known.trouble?.probing === session) known.trouble = { ...known.trouble, probing: null };
}

/** Lets all calls through; true: they were held back. A failure of one session alone stays noted. */
export function close(known: ModelState): boolean {
  if (!isAway(known.trouble)) return false;
  known.trouble = null;
  known.probesUntilMs = 0;
  return true;
}
