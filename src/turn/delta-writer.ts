// Gathers the text deltas of all running turns for a moment and writes them together. What is still here when the answer is
// committed goes with that commit instead, so a short answer costs no write of its own.
//
// Two statements that are on their way at once may be committed in either order, and readers read in the order of commits. So there
// is one write at a time, and a commit that ends a call waits for the write that has text of it.
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

interface Gathered extends DeltaTarget {
  call: number;
  text: string;
}

export class DeltaWriter {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #onWritten: (sessionId: SessionId) => void;
  #gathered = new Map<SessionId, Gathered>();
  /** What is being written; empty when nothing is. */
  #leaving: ReadonlyMap<SessionId, Gathered> = new Map();
  #written: Promise<void> = Promise.resolve();
  #isDue = false;

  constructor(options: { database: Database; logger: Logger; onWritten: (sessionId: SessionId) => void }) {
    this.#database = options.database;
    this.#logger = options.logger;
    this.#onWritten = options.onWritten;
  }

  /** Adds text of a model call. */
  add(target: DeltaTarget, call: number, text: string): void {
    const gathered = this.#gathered.get(target.sessionId);
    if (gathered !== undefined && gathered.call === call && gathered.turnId === target.turnId) gathered.text += text;
    else this.#gathered.set(target.sessionId, { ...target, call, text });
    this.#writeSoon();
  }

  /**
   * Takes out what is gathered for a turn, for the statement that ends its model call. Resolves when everything before it is written
   * or lost; never rejects.
   */
  async take(target: DeltaTarget): Promise<{ call: number; text: string } | null> {
    while (this.#leaving.has(target.sessionId)) await this.#written;
    const gathered = this.#gathered.get(target.sessionId);
    if (gathered === undefined || gathered.turnId !== target.turnId) return null;
    this.#gathered.delete(target.sessionId);
    return { call: gathered.call, text: gathered.text };
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
    const deltas = [...this.#leaving.values()];
    if (deltas.length === 0) return;
    try {
      await appendDeltas(
        this.#database,
        deltas.map(({ call, text, ...target }) => ({ ...target, data: { call, text } })),
      );
      for (const delta of deltas) this.#onWritten(delta.sessionId);
    } catch (error) {
      // Only for looking at: the answer itself is committed with all its text.
      this.#logger.debug({ err: error }, 'Text deltas were lost');
    }
  }
}
