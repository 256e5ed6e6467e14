// Gathers the text deltas of all running turns for a moment and writes them together. What is still here when the answer is
// committed goes with that commit instead, so a short answer costs no write of its own.
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
  readonly #gathered = new Map<SessionId, Gathered>();
  #timer: NodeJS.Timeout | null = null;

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
    this.#timer ??= setTimeout(() => void this.#flush(), GATHER_MS);
  }

  /** Takes out what is gathered for a turn, for the statement that commits its answer. */
  take(target: DeltaTarget): { call: number; text: string } | null {
    const gathered = this.#gathered.get(target.sessionId);
    if (gathered === undefined || gathered.turnId !== target.turnId) return null;
    this.#gathered.delete(target.sessionId);
    return { call: gathered.call, text: gathered.text };
  }

  async #flush(): Promise<void> {
    this.#timer = null;
    const deltas = [...this.#gathered.values()];
    this.#gathered.clear();
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
