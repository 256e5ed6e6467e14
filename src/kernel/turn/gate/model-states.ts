// Which models must not be called now, as one worker knows it. Two checks of the gate ask it: a model is blocked while
// its provider has asked for no calls, and away while it does not answer: then one call at a time tests it (kernel/rules/model-outage.ts decides when).
// Both are rows that all workers share (kernel/turn/gate/model-blocks.ts): the worker that meets one writes it, and the others learn it with their
// claims and their polls for stop reasons.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../clock.ts';
import { classifyOutage } from '../../../core/failure.ts';
import {
  checkCall,
  chooseBlockMs,
  isAway,
  noteAway,
  noteFailure,
  pauseAfterFailureMs,
  RESUME_MS,
  type ModelTrouble,
  type ProbeBounds,
} from '../../rules/model-outage.ts';
import { modelOfRef, providerOf, refOfModel, type NamedModel } from '../../../core/model-ref.ts';
import type { Logger } from '../../../logger.ts';
import type { Model, ModelError } from '../../../model/model.ts';
import type { Database } from '../../../database/database.ts';
import { blockModel, markAway, markBack, takeProbe, type BlockedModel, type ModelBlock } from './model-blocks.ts';
import { modelAway, modelBlocked, type Reason } from '../../rules/why.ts';
import { wake } from '../../queue/wake-parked.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { PASS, type ComingCall, type GateCheck, type Hold, type Setback } from './gate-check.ts';
import { WAIT_IN_SLOT_MS_MAX } from './wait-reasons.ts';

export interface ModelStatesOptions {
  clock: Clock;
  database: Database;
  logger: Logger;
  random: () => number;
  bounds: ProbeBounds;
  accountOf: Model['accountOf'];
  /** Called with each block that is learned, also with one that is known or lifted. Must not throw. */
  onBlock: (block: ModelBlock) => void;
}

/** A worker that ends during its probe leaves it to another one after this time, in milliseconds. */
const PROBE_MS_MAX = 60_000;
/** Until this worker has read that another one probes, in milliseconds. */
const WAIT_MS_MIN = 250;

/** The largest number of models that a worker knows; those that were asked last stay. */
const MODELS_MAX = 1_000;

/** What is known of a model. */
interface KnownModel extends BlockedModel {
  /** When its block ends, in monotonic milliseconds. */
  blockedUntilMs: number;
  trouble: ModelTrouble | null;
  /** Until when this worker alone may probe it, in monotonic milliseconds. */
  probesUntilMs: number;
}

const isLive = ({ way }: ComingCall): boolean => way === 'live';

export class ModelStates {
  readonly #options: ModelStatesOptions;
  /** By account and model. */
  readonly #known = new LRUCache<string, KnownModel>({ max: MODELS_MAX });

  constructor(options: ModelStatesOptions) {
    this.#options = options;
  }

  readonly blocked: GateCheck = {
    applies: isLive,
    ask: ({ model }) => {
      const forMs = this.blockedMs(model);
      if (forMs === 0) return PASS;
      const reason = modelBlocked(model, forMs);
      return { kind: 'wait', reason, forMs, spreadMs: RESUME_MS, notBeforeMs: forMs, isOfModel: true };
    },
    isOpen: (model) => this.blockedMs(model) <= WAIT_IN_SLOT_MS_MAX,
  };

  readonly away: GateCheck = {
    applies: isLive,
    ask: async ({ turn, model }) => {
      const session = turn.session.id;
      const known = this.#find(model);
      const found = this.#check(known, session);
      const probed = found.kind === 'probe' ? await this.#probe(known, session) : null;
      const waitMs = found.kind === 'wait' ? found.ms : probed;
      if (waitMs === null) return { kind: 'pass', hold: this.#toHold(known, turn) };
      // Spread over some time after the next probe: turns that have seen the outage themselves make the probes, and one that succeeds wakes the others.
      const { max } = this.#options.bounds;
      const spread = { forMs: waitMs + max, spreadMs: 3 * max, isParked: true, isOfModel: true };
      // The model may be back already.
      const onParked = (): void => void (isAway(known.trouble) || this.#wake(known));
      return { kind: 'wait', reason: modelAway(model), ...spread, onParked };
    },
    isOpen: (model) => this.#check(this.#find(model), '').kind !== 'wait',
  };

  /** How long the model is still blocked, in milliseconds; 0: it is not. */
  blockedMs(model: NamedModel): number {
    return Math.max(0, this.#find(model).blockedUntilMs - this.#nowMs());
  }

  /**
   * Applies what the database returned. A block never becomes shorter, because the answer may be older than a block of this worker; one that was
   * lifted ends.
   */
  learn(blocks: readonly ModelBlock[]): void {
    const away = new Set<KnownModel>();
    const nowMs = this.#nowMs();
    for (const block of blocks) {
      const known = this.#of(block);
      this.#options.onBlock(block);
      if (block.isLifted !== true && block.probeInMs === null) extendBlock(known, nowMs + block.leftMs);
      else known.blockedUntilMs = 0;
      if (block.isLifted === true) {
        if (close(known)) this.#wake(known);
      } else if (block.probeInMs !== null) {
        away.add(known);
        known.trouble = noteAway(known.trouble, nowMs + (nowMs < known.probesUntilMs ? 0 : block.probeInMs));
      }
    }
    // Its block has ended, or its provider has asked to wait, which holds it back as well.
    for (const known of this.#known.values()) if (known.trouble?.isShared === true && !away.has(known)) close(known);
  }

  /** Takes the probe for a session. How long it has to wait, in milliseconds, because another worker has it; null: it may call. */
  async #probe(known: KnownModel, session: string): Promise<number | null> {
    if (known.trouble !== null) known.trouble = { ...known.trouble, probing: session };
    if (this.#nowMs() < known.probesUntilMs) return null;
    try {
      const probe = await takeProbe(this.#options.database, known, PROBE_MS_MAX);
      if (probe.kind === 'taken') known.probesUntilMs = this.#nowMs() + PROBE_MS_MAX;
      if (probe.kind !== 'wait') return null;
      const waitMs = Math.max(WAIT_MS_MIN, probe.waitMs);
      known.trouble = noteAway(known.trouble, this.#nowMs() + waitMs);
      leaveProbe(known, session);
      return waitMs;
    } catch (error) {
      leaveProbe(known, session);
      throw error;
    }
  }

  #toHold(known: KnownModel, turn: OpenedTurn): Hold {
    const answered = (): void => this.#answered(known);
    const left = (): void => leaveProbe(known, turn.session.id);
    return {
      answered,
      left,
      failed: async (fault) => {
        if (classifyOutage(fault) === null) {
          // An error with a status shows that the provider answers; a stream that broke off or fell silent shows nothing.
          if (fault.status === null) left();
          else answered();
          return null;
        }
        const blockMs = chooseBlockMs(fault);
        if (blockMs === null) return this.#noteFailure(known, turn, fault);
        // What holds the calls back is the block, not the probes.
        left();
        return await this.#block(known, blockMs, fault);
      },
    };
  }

  #answered(known: KnownModel): void {
    const { database, logger } = this.#options;
    const wasAway = close(known);
    known.trouble = null;
    if (!wasAway) return;
    logger.info({ model: known.model }, 'Model answers again; the turns that wait for it resume');
    this.#wake(known, markBack(database, known));
  }

  #noteFailure(known: KnownModel, { session, journal }: OpenedTurn, fault: ModelError): Setback {
    const { random, bounds } = this.#options;
    const nowMs = this.#nowMs();
    const before = known.trouble;
    const notBeforeMs = Math.max(0, fault.retryAfterMs ?? 0);
    const failure = { session: session.id, nowMs, retryAfterMs: notBeforeMs, random: random() };
    const after = noteFailure(before, failure, bounds);
    known.trouble = after;
    if (before?.probing === session.id) known.probesUntilMs = 0;
    const kind = isAway(after) ? 'away' : 'unsure';
    const isNews = isAway(after) && !isAway(before);
    const probeInMs = isAway(after) ? Math.max(0, after.probeAtMs - nowMs) : 0;
    if (isAway(after) && after.probeAtMs !== before?.probeAtMs) this.#markAway(known, { probeInMs, isNews, fault });
    const pauses = { pauses: journal.at.park?.parks ?? 0, random: random() };
    const forMs = pauseAfterFailureMs({ ...pauses, atLeastMs: Math.max(notBeforeMs, probeInMs) }, bounds);
    return { kind, wait: { reason: explainAbsence(known, fault), hasCalled: true, isNews, forMs, notBeforeMs } };
  }

  #markAway(
    { account, model }: KnownModel,
    { probeInMs, isNews, fault }: { probeInMs: number; isNews: boolean; fault: ModelError },
  ): void {
    const { database, logger } = this.#options;
    if (isNews) logger.warn({ model }, 'Model is away; no worker calls it but for one test at a time');
    markAway(database, { account, model }, { probeInMs, text: fault.message }).catch((error: unknown) =>
      database.outages.report(error, 'It could not be stored that a model is away', { model }),
    );
  }

  async #block(known: KnownModel, forMs: number, fault: ModelError): Promise<Setback> {
    const { database, onBlock } = this.#options;
    const { account, model, blockedUntilMs } = known;
    const block = { account, model, leftMs: forMs, probeInMs: null };
    const isNews = blockedUntilMs <= this.#nowMs();
    onBlock(block);
    extendBlock(known, this.#nowMs() + forMs);
    await blockModel(database, block, fault.message);
    const { code, ...facts } = explainAbsence(known, fault);
    const reason = { code: code === 'model_away' ? 'model_blocked' : code, ...facts };
    return {
      kind: 'blocked',
      wait: { reason, hasCalled: true, isNews, forMs, spreadMs: RESUME_MS, notBeforeMs: forMs },
    };
  }

  /** Wakes the turns that wait for the provider of a model; if that fails, they become due by themselves. */
  #wake({ model }: BlockedModel, marked = Promise.resolve()): void {
    const { database, logger } = this.#options;
    const message = 'Turns that wait for the model could not be woken; each resumes when its wait ends';
    marked
      .then(() => wake(database, { code: 'model_away', by: providerOf(modelOfRef(model)) }))
      .catch((error: unknown) => logger.warn({ err: error, model }, message));
  }

  #check({ trouble }: KnownModel, session: string) {
    return checkCall(trouble, { session, nowMs: this.#nowMs() });
  }

  #find(model: NamedModel): KnownModel {
    return this.#of({ account: this.#options.accountOf(model), model: refOfModel(model) });
  }

  #of({ account, model }: BlockedModel): KnownModel {
    const key = `${account} ${model}`;
    const known = this.#known.get(key) ?? { account, model, blockedUntilMs: 0, trouble: null, probesUntilMs: 0 };
    this.#known.set(key, known);
    return known;
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

/** Why a turn waits whose call has failed: what the provider said. */
function explainAbsence({ model }: KnownModel, fault: ModelError): Reason {
  return { code: classifyOutage(fault) ?? 'model_away', text: fault.message, by: providerOf(modelOfRef(model)) };
}

function extendBlock(known: KnownModel, untilMs: number): void {
  known.blockedUntilMs = Math.max(known.blockedUntilMs, untilMs);
}

function leaveProbe(known: KnownModel, session: string): void {
  if (known.trouble?.probing === session) known.trouble = { ...known.trouble, probing: null };
}

/** Lets all calls through; true: they were held back. A failure of one session alone stays noted. */
function close(known: KnownModel): boolean {
  if (!isAway(known.trouble)) return false;
  known.trouble = null;
  known.probesUntilMs = 0;
  return true;
}
