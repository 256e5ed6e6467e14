// Batches the deltas of all running turns briefly, texts and reasoning, and writes them together.
// Deltas that are still batched when the answer is committed are written by that commit instead, so
// a short answer costs no write of its own.
//
// Two statements in flight may be committed in either order, and readers read in the order of
// commits. So there is one write at a time, and a commit that ends a call waits for the write that
// has text of it.
import { setTimeout as delay } from 'node:timers/promises';
import { shareNext } from '../../coalesce.ts';
import type { SessionId, TurnId } from '../../core/ids.ts';
import type { Logger } from '../../logger.ts';
import type { Database } from '../../database/database.ts';
import { appendDeltas } from './journal/deltas.ts';

/** How long text is gathered, in milliseconds. */
const GATHER_MS = 80;

export interface DeltaTarget {
  sessionId: SessionId;
  epoch: number;
  turnId: TurnId;
}

/** The text or thinking of a model call, as an event. */
export interface DeltaEvent {
  type: 'model.delta' | 'model.reasoning';
  data: { call: number; text: string };
}

/** The gathered deltas of a turn, in the order of arrival. */
interface DeltaBatch extends DeltaTarget {
  deltas: DeltaEvent[];
}

export class DeltaWriter {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #onWritten: (sessionId: SessionId) => void;
  readonly #gathered = new Map<SessionId, DeltaBatch>();
  /** The write in flight, by the sessions that have text in it. */
  readonly #writing = new Map<SessionId, Promise<void>>();
  readonly #flush = shareNext(() => this.#writeGathered());

  constructor(options: { database: Database; logger: Logger; onWritten: (sessionId: SessionId) => void }) {
    this.#database = options.database;
    this.#logger = options.logger;
    this.#onWritten = options.onWritten;
  }

  /** Adds text or thinking of a model call. */
  add(target: DeltaTarget, { type, data: { call, text } }: DeltaEvent): void {
    const gathered = this.#gathered.get(target.sessionId);
    const last = gathered?.deltas.at(-1);
    if (gathered === undefined || gathered.turnId !== target.turnId) {
      this.#gathered.set(target.sessionId, { ...target, deltas: [{ type, data: { call, text } }] });
    } else if (last?.type === type && last.data.call === call) last.data.text += text;
    else gathered.deltas.push({ type, data: { call, text } });
    void this.#flush();
  }

  /**
   * Takes out what is gathered for a turn, for the statement that ends its model call. Resolves
   * when everything before it is written or lost; never rejects.
   */
  async take(target: DeltaTarget): Promise<DeltaEvent[]> {
    await this.#writing.get(target.sessionId);
    const gathered = this.#gathered.get(target.sessionId);
    if (gathered === undefined || gathered.turnId !== target.turnId) return [];
    this.#gathered.delete(target.sessionId);
    return gathered.deltas;
  }

  /** Never rejects. */
  async #writeGathered(): Promise<void> {
    if (this.#gathered.size === 0) return;
    await delay(GATHER_MS);
    const batches = [...this.#gathered.values()];
    this.#gathered.clear();
    const written = this.#write(batches);
    for (const { sessionId } of batches) this.#writing.set(sessionId, written);
    await written;
    this.#writing.clear();
  }

  async #write(batches: DeltaBatch[]): Promise<void> {
    if (batches.length === 0) return;
    try {
      await appendDeltas(
        this.#database,
        batches.flatMap(({ deltas, ...target }) => deltas.map((delta) => ({ ...target, ...delta }))),
      );
      for (const { sessionId } of batches) this.#onWritten(sessionId);
    } catch (error) {
      // Deltas are only for display: the answer itself is committed with all its text.
      this.#logger.debug({ err: error }, 'Text deltas were lost');
    }
  }
}
