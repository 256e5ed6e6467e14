// Batches the deltas of all running turns briefly, texts and reasoning, and writes them together. Deltas that are still batched when the
// answer is committed are written by that commit instead, so a short answer costs no write of its own.
//
// Two statements in flight may be committed in either order, and readers read in the order of commits. So there is one write at a time, and
// a commit that ends a call waits for the write that has text of it.
import type { SessionId, TurnId } from '../core/ids.ts';
import type { Logger } from '../logger.ts';
import type { Database } from '../store/database.ts';
import { appendDeltas } from '../store/deltas.ts';

/** How long text is gathered, in milliseconds. */
const GATHER_MS = 80;

export interface DeltaTarget {
  sessionId: SessionId;
  epoch: number;
  turnId: TurnId;
}

/** What a model call has said or thought, as an event. */
export interface DeltaEvent {
  type: 'model.delta' | 'model.reasoning';
  data: { call: number; text: string };
}

/** What is gathered of a turn, in the order in which it came. */
interface DeltaBatch extends DeltaTarget {
  deltas: DeltaEvent[];
}

export class DeltaWriter {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #onWritten: (sessionId: SessionId) => void;
  #gathered = new Map<SessionId, DeltaBatch>();
  /** What is being written; empty when nothing is. */
  #leaving: ReadonlyMap<SessionId, DeltaBatch> = new Map();
  #written: Promise<void> = Promise.resolve();
  #isDue = false;

  constructor(options: { database: Database; logger: Logger; onWritten: (sessionId: SessionId) => void }) {
    this.#database = options.database;
    this.#logger = options.logger;
    this.#onWritten = options.onWritten;
  }

  /** Adds text of a model call. */
  add(target: DeltaTarget, call: number, text: string): void {
    this.#add(target, { type: 'model.delta', data: { call, text } });
  }

  /** Adds what a model call has thought. */
  addReasoning(target: DeltaTarget, call: number, text: string): void {
    this.#add(target, { type: 'model.reasoning', data: { call, text } });
  }

  /**
   * Takes out what is gathered for a turn, for the statement that ends its model call. Resolves when everything before it is written
   * or lost; never rejects.
   */
  async take(target: DeltaTarget): Promise<DeltaEvent[]> {
    while (this.#leaving.has(target.sessionId)) await this.#written;
    const gathered = this.#gathered.get(target.sessionId);
    if (gathered === undefined || gathered.turnId !== target.turnId) return [];
    this.#gathered.delete(target.sessionId);
    return gathered.deltas;
  }

  #add(target: DeltaTarget, delta: DeltaEvent): void {
    const gathered = this.#gathered.get(target.sessionId);
    const last = gathered?.deltas.at(-1);
    if (gathered === undefined || gathered.turnId !== target.turnId) {
      this.#gathered.set(target.sessionId, { ...target, deltas: [delta] });
    } else if (last?.type === delta.type && last.data.call === delta.data.call) last.data.text += delta.data.text;
    else gathered.deltas.push(delta);
    this.#writeSoon();
  }

  #writeSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => {
      this.#written = this.#write().finally(() => {
        this.#isDue = false;
        this.#leaving = new Map();
        if (this.#gathered.size > 0) this.#writeSoon();
      });
    }, GATHER_MS);
  }

  async #write(): Promise<void> {
    this.#leaving = this.#gathered;
    this.#gathered = new Map();
    const leaving = [...this.#leaving.values()];
    if (leaving.length === 0) return;
    try {
      await appendDeltas(
        this.#database,
        leaving.flatMap(({ deltas, ...target }) => deltas.map((delta) => ({ ...target, ...delta }))),
      );
      for (const { sessionId } of leaving) this.#onWritten(sessionId);
    } catch (error) {
      // Only for looking at: the answer itself is committed with all its text.
      this.#logger.debug({ err: error }, 'Text deltas were lost');
    }
  }
}
