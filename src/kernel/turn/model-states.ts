// Which models must not be called now, as one worker knows it. Two checks of the gate ask it: a
// model is blocked while its provider has asked for no calls, and away while it does not answer:
// then one call at a time tests it (kernel/rules/model-outage.ts decides when). Both are rows that
// all workers share (src/kernel/queue/model-blocks.ts): the worker that meets one writes it, and
// the others learn it with their claims and their polls for stop reasons.
//
// Where a provider has several keys, all of it is known per key, and a failure that is the key's
// own (429, money, refused) makes that key away at once: for the model, or for all of its models
// under the name `provider/*`.
import type { Clock } from '../../clock.ts';
import { absenceOf, classifyOutage } from '../../core/failure.ts';
import {
  chooseBlockMs,
  isAway,
  noteAway,
  noteFailure,
  pauseAfterFailureMs,
  RESUME_MS,
  type ProbeBounds,
  checkCall,
  type CallCheck,
  type ModelTrouble,
} from '../rules/model-outage.ts';
import { modelOfRef, providerOf, type NamedModel, refOfModel, type ModelTraits } from '../../core/models.ts';
import { coolingOf, type Cooling, isForGood } from '../rules/provider-keys.ts';
import type { Logger } from '../../logger.ts';
import { type Model, ModelError } from '../../model/model.ts';
import type { Database } from '../../database/database.ts';
import {
  blockModel,
  markAway,
  markBack,
  takeProbe,
  type ModelBlock,
  ALL_MODELS,
  type BlockedModel,
} from '../queue/model-blocks.ts';
import { keysHeld, keysRefused, modelAway, modelBlocked, type Absence } from '../rules/why.ts';
import { wake } from '../queue/wake-parked.ts';
import type { OpenedTurn } from './opened-turn.ts';
import { TurnFailed, WAIT_IN_SLOT_MS_MAX } from './turn-stop.ts';
import { PASS, type CheckAnswer, type ComingCall, type GateCheck, type Hold, type Setback } from './gate-check.ts';
import { LRUCache } from 'lru-cache';

export interface ModelStatesOptions {
  clock: Clock;
  database: Database;
  logger: Logger;
  random: () => number;
  bounds: ProbeBounds;
  model: Pick<Model, 'accountOf' | 'keysOf'>;
  /**
   * Called with each block that is learned, also with one that is known or lifted. Must not throw.
   */
  onBlock: (block: ModelBlock) => void;
}

/**
 * A worker that ends during its probe leaves it to another one after this time, in milliseconds.
 */
const PROBE_MS_MAX = 60_000;
/** Until this worker has read that another one probes, in milliseconds. */
const WAIT_MS_MIN = 250;

const isLive = ({ way }: ComingCall): boolean => way === 'live';

export class ModelStates {
  readonly #options: ModelStatesOptions;
  readonly known: KnownModels;

  constructor(options: ModelStatesOptions) {
    this.#options = options;
    this.known = new KnownModels(options);
  }

  readonly blocked: GateCheck = {
    applies: isLive,
    ask: ({ model }) => {
      const forMs = this.known.blockedMs(model);
      if (forMs === 0) return PASS;
      const reason = modelBlocked(model, forMs);
      return { kind: 'wait', reason, forMs, spreadMs: RESUME_MS, notBeforeMs: forMs, isOfModel: true };
    },
    isOpen: (model) => this.known.blockedMs(model) <= WAIT_IN_SLOT_MS_MAX,
  };

  readonly away: GateCheck = {
    applies: isLive,
    ask: async ({ turn, model }) => {
      const all = this.known.findAll(model);
      for (const known of all) {
        const waitMs = await this.#askState(known, turn.session.id);
        if (waitMs === null) continue;
        // The probe of the key may have been taken before its model had to wait.
        for (const one of all) leaveProbe(one, turn.session.id);
        return all.length > 1 ? this.#waitForKey(model, waitMs) : this.#waitForModel(known, model, waitMs);
      }
      return { kind: 'pass', hold: this.#toHold(all, turn, model) };
    },
    isOpen: (model) => this.known.findAll(model).every((known) => this.known.check(known, '').kind !== 'wait'),
  };

  /**
   * How long the state of a model lets no call of a session through, in milliseconds; null: it may
   * call, as the probe if one is due.
   */
  async #askState(known: ModelState, session: string): Promise<number | null> {
    const found = this.known.check(known, session);
    if (found.kind === 'probe') return await this.#probe(known, session);
    return found.kind === 'wait' ? found.ms : null;
  }

  #waitForModel(known: ModelState, model: NamedModel, waitMs: number): CheckAnswer {
    // Spread over some time after the next probe: turns that have seen the outage themselves make
    // the probes, and one that succeeds wakes the others.
    const { max } = this.#options.bounds;
    const spread = { forMs: waitMs + max, spreadMs: 3 * max, isParked: true, isOfModel: true };
    // The model may be back already.
    const onParked = (): void => void (isAway(known.trouble) || this.#wake(known));
    return { kind: 'wait', reason: modelAway(model, known.absence), ...spread, onParked };
  }

  /** The wait for a key that a session asks because no other one is let through. */
  #waitForKey(model: NamedModel, waitMs: number): CheckAnswer {
    if (this.known.areRefused(model))
      return { kind: 'fail', failure: new TurnFailed('model_unauthorized', keysRefused(model)) };
    // One whose probe is under way has no known time.
    const forMs = waitMs === 0 ? this.#options.bounds.min : waitMs;
    return {
      kind: 'wait',
      reason: keysHeld(model, forMs),
      forMs,
      spreadMs: RESUME_MS,
      isParked: true,
      isOfModel: true,
    };
  }

  /** How long the model is still blocked, in milliseconds; 0: it is not. */
  blockedMs(model: NamedModel): number {
    return this.known.blockedMs(model);
  }

  /**
   * Applies what the database returned. A block never becomes shorter, because the answer may be
   * older than a block of this worker; one that was lifted ends.
   */
  learn(blocks: readonly ModelBlock[]): void {
    const away = new Set<ModelState>();
    const nowMs = this.known.nowMs();
    this.known.readTraits(blocks);
    for (const block of blocks) {
      if (block.leftMs <= 0) continue;
      const known = this.known.of(block);
      this.#options.onBlock(block);
      if (nowMs < known.storedUntilMs) continue;
      if (block.isLifted !== true && block.probeInMs === null) extendBlock(known, nowMs + block.leftMs);
      else known.blockedUntilMs = 0;
      if (block.isLifted === true) {
        if (close(known)) this.#wake(known);
      } else if (block.probeInMs !== null) {
        away.add(known);
        known.trouble = noteAway(known.trouble, nowMs + (nowMs < known.probesUntilMs ? 0 : block.probeInMs));
        known.absence = block.absence ?? null;
      }
    }
    // Its block has ended, or its provider has asked to wait, which holds it back as well.
    for (const known of this.known.all())
      if (known.trouble?.isShared === true && !away.has(known) && nowMs >= known.storedUntilMs) close(known);
  }

  /**
   * Takes the probe for a session. How long it has to wait, in milliseconds, because another worker
   * has it; null: it may call.
   */
  async #probe(known: ModelState, session: string): Promise<number | null> {
    if (known.trouble !== null) known.trouble = { ...known.trouble, probing: session };
    if (this.known.nowMs() < known.probesUntilMs) return null;
    try {
      const probe = await takeProbe(this.#options.database, known, PROBE_MS_MAX);
      if (probe.kind === 'taken') known.probesUntilMs = this.known.nowMs() + PROBE_MS_MAX;
      if (probe.kind !== 'wait') return null;
      const waitMs = Math.max(WAIT_MS_MIN, probe.waitMs);
      known.trouble = noteAway(known.trouble, this.known.nowMs() + waitMs);
      leaveProbe(known, session);
      return waitMs;
    } catch (error) {
      leaveProbe(known, session);
      throw error;
    }
  }

  #toHold(all: readonly ModelState[], turn: OpenedTurn, model: NamedModel): Hold {
    const known = all.at(-1) ?? this.known.find(model);
    const { id: session } = turn.session;
    // A call that was in flight when a key was held back says nothing of it; its probe does.
    const answered = (): void =>
      all
        .filter(({ trouble }) => all.length === 1 || !isAway(trouble) || trouble?.probing === session)
        .forEach((one) => this.#answered(one));
    const left = (): void => all.forEach((one) => leaveProbe(one, session));
    return {
      answered,
      left,
      failed: async (fault) => {
        const cooling = all.length > 1 ? coolingOf(fault) : null;
        if (cooling !== null) {
          left();
          return await this.#cool(cooling.isWhole ? (all[0] ?? known) : known, { ...cooling, model, fault });
        }
        if (classifyOutage(fault) === null) {
          // An error with a status shows that the provider answers; a stream that broke off or fell
          // silent shows nothing.
          if (fault.status === null) left();
          else answered();
          return null;
        }
        const blockMs = chooseBlockMs(fault);
        if (blockMs === null) {
          const setback = this.#noteFailure(known, turn, fault);
          left();
          return setback;
        }
        // What holds the calls back is the block, not the probes.
        left();
        return await this.#block(known, blockMs, fault);
      },
    };
  }

  #answered(known: ModelState): void {
    const { database, logger } = this.#options;
    const wasAway = close(known);
    known.trouble = null;
    if (!wasAway) return;
    logger.info({ model: known.model }, 'Model answers again; the turns that wait for it resume');
    this.#wake(known, markBack(database, known));
  }

  #noteFailure(known: ModelState, { session, journal }: OpenedTurn, fault: ModelError): Setback {
    const { random, bounds } = this.#options;
    const nowMs = this.known.nowMs();
    const before = known.trouble;
    const notBeforeMs = Math.max(0, fault.retryAfterMs ?? 0);
    const failure = { session: session.id, nowMs, retryAfterMs: notBeforeMs, random: random() };
    const after = noteFailure(before, failure, bounds);
    known.trouble = after;
    known.absence = absenceOf(fault);
    if (before?.probing === session.id) known.probesUntilMs = 0;
    const kind = isAway(after) ? 'away' : 'unsure';
    const isNews = isAway(after) && !isAway(before);
    const probeInMs = isAway(after) ? Math.max(0, after.probeAtMs - nowMs) : 0;
    const { absence } = known;
    if (isAway(after) && after.probeAtMs !== before?.probeAtMs) this.#markAway(known, { probeInMs, isNews, absence });
    const pauses = { pauses: journal.at.park?.parks ?? 0, random: random() };
    const forMs = pauseAfterFailureMs({ ...pauses, atLeastMs: Math.max(notBeforeMs, probeInMs) }, bounds);
    const reason = modelAway(modelOfRef(known.model), absence);
    return { kind, wait: { reason, hasCalled: true, isNews, forMs, notBeforeMs } };
  }

  #markAway(
    { account, model }: ModelState,
    { probeInMs, isNews, absence }: { probeInMs: number; isNews: boolean; absence: Absence },
  ): void {
    const { database, logger } = this.#options;
    if (isNews) logger.warn({ model, ...absence }, 'Model is away; no worker calls it but for one test at a time');
    markAway(database, { account, model }, { probeInMs, absence }).catch((error: unknown) =>
      database.outages.report(error, 'It could not be stored that a model is away', { model }),
    );
  }

  async #block(known: ModelState, forMs: number, fault: ModelError): Promise<Setback> {
    const { database, onBlock } = this.#options;
    const { account, model, blockedUntilMs } = known;
    const block = { account, model, leftMs: forMs, probeInMs: null };
    const isNews = blockedUntilMs <= this.known.nowMs();
    onBlock(block);
    extendBlock(known, this.known.nowMs() + forMs);
    const { code, text } = absenceOf(fault);
    await blockModel(database, block, { code, text });
    const reason = { code: code === 'rate_limited' ? code : 'model_blocked', text, by: providerOf(modelOfRef(model)) };
    return {
      kind: 'blocked',
      wait: { reason, hasCalled: true, isNews, forMs, spreadMs: RESUME_MS, notBeforeMs: forMs },
    };
  }

  /**
   * No worker uses a key for so long, for a model or at all; then one finds out whether it is back.
   * Null: the provider has refused all keys.
   */
  async #cool(
    known: ModelState,
    { forMs, model, fault }: Cooling & { model: NamedModel; fault: ModelError },
  ): Promise<Setback | null> {
    const { database, logger } = this.#options;
    const nowMs = this.known.nowMs();
    const isNews = !isAway(known.trouble);
    known.trouble = { ...noteAway(known.trouble, nowMs + forMs), probing: null };
    known.probesUntilMs = 0;
    known.storedUntilMs = nowMs + STORED_MS;
    if (isNews) logger.warn({ model: known.model, key: model.key, forMs }, 'Key is held back; other keys are used');
    await markAway(database, known, { probeInMs: forMs, absence: absenceOf(fault) });
    if (this.known.areRefused(model)) return null;
    const leftMs = Math.min(...this.known.heldMsOfKeys(model));
    const code = classifyOutage(fault) ?? 'model_blocked';
    const reason = { code, text: fault.message, by: providerOf(model) };
    return { kind: 'key', wait: { reason, hasCalled: true, isNews, forMs: leftMs, spreadMs: RESUME_MS } };
  }

  /**
   * Wakes the turns that wait for the provider of a model; if that fails, they become due by
   * themselves.
   */
  #wake({ model }: ModelState, marked = Promise.resolve()): void {
    const { database, logger } = this.#options;
    const message = 'Turns that wait for the model could not be woken; each resumes when its wait ends';
    const by = providerOf(modelOfRef(model));
    marked
      .then(async () => {
        await wake(database, { code: 'model_away', by });
        await wake(database, { code: 'model_wrong_address', by });
        // The codes of turns that wait for a key.
        if (this.#options.model.keysOf({ provider: by }).length < 2) return;
        await wake(database, { code: 'rate_limited', by });
        await wake(database, { code: 'model_blocked', by });
      })
      .catch((error: unknown) => logger.warn({ err: error, model }, message));
  }
}

// What one worker knows of the models that it asks: for each account and model, until when it is
// blocked, and how far it is away. A provider with several keys has an account for each, and one
// more state for all models of a key.

/** The largest number of models that a worker knows; those that were asked last stay. */
const MODELS_MAX = 1_000;
/**
 * What this worker itself has stored about a model is not overruled for this long by what was read
 * before, in milliseconds.
 */
export const STORED_MS = 1_000;

/** What is known of a model. */
export interface ModelState extends BlockedModel {
  /** When its block ends, in monotonic milliseconds. */
  blockedUntilMs: number;
  trouble: ModelTrouble | null;
  /** Why its calls failed last, as far as that is known. */
  absence: Absence | null;
  /** Until when this worker alone may probe it, in monotonic milliseconds. */
  probesUntilMs: number;
  /**
   * Until when what is read about it may be of before this worker has stored its state, in
   * monotonic milliseconds.
   */
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
    const calm = { trouble: null, absence: null, traits: {} };
    const fresh: ModelState = { account, model, blockedUntilMs: 0, probesUntilMs: 0, storedUntilMs: 0, ...calm };
    const known = this.#known.get(key) ?? fresh;
    this.#known.set(key, known);
    return known;
  }

  find(model: NamedModel): ModelState {
    return this.of({ account: this.#model.accountOf(model), model: refOfModel(model) });
  }

  /**
   * What holds back calls of a model: its own state, and before it that of its key, where its
   * provider has several.
   */
  findAll(model: NamedModel): ModelState[] {
    const own = this.find(model);
    if (this.#model.keysOf(model).length < 2) return [own];
    return [this.of({ account: own.account, model: refOfModel({ ...model, model: ALL_MODELS }) }), own];
  }

  /**
   * Takes over which traits are stored. They end when a person lifts the blocks of a model, or
   * after their time.
   */
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

  /** How long each key of the model's provider is held back. */
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

/**
 * Lets all calls through; true: they were held back. A failure of one session alone stays noted.
 */
export function close(known: ModelState): boolean {
  if (!isAway(known.trouble)) return false;
  known.trouble = null;
  known.probesUntilMs = 0;
  return true;
}

// The lengths of the last answers of each agent in this worker: an estimate of the length of the
// next one.

/** How many answers of an agent are remembered, and the expected length before there are any. */
const OUTPUTS_MAX = 200;

const OUTPUT_TOKENS_DEFAULT = 1_000;

const OUTPUT_QUANTILE = 0.9;

export class OutputHistory {
  /** In tokens. */
  readonly #outputs = new Map<string, readonly number[]>();

  /** Notes the length of an answer. */
  add(agentId: string, tokens: number): void {
    this.#outputs.set(agentId, [...(this.#outputs.get(agentId) ?? []), tokens].slice(-OUTPUTS_MAX));
  }

  /**
   * The length that nine of ten recent answers of the agent did not exceed; never more than a
   * request allows.
   */
  likely(agentId: string, maxTokens: number): number {
    const sorted = this.#outputs.get(agentId)?.toSorted((one, other) => one - other) ?? [];
    const likely = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * OUTPUT_QUANTILE))];
    return Math.min(likely ?? OUTPUT_TOKENS_DEFAULT, maxTokens);
  }
}
