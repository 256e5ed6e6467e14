// The budgets that hold, as a process knows them: read once a second, so that a call that no budget
// covers costs no statement. Whether there is room is decided by the rows, when a call reserves its
// cost.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isCovered, type BudgetFacts } from '../rules/budget.ts';
import type { TurnId } from '../../../core/ids.ts';
import type { Database } from '../../../database/database.ts';
import { readBudgets, type Budget } from './budgets.ts';
import { createSettleCosts } from './settle-costs.ts';

/** Batches whose caps are known. */
const BATCHES_MAX = 1_000;

export class BudgetBook {
  readonly #database: Database;
  readonly #settle: (turnId: TurnId) => Promise<void>;
  #budgets: readonly Budget[] = [];
  #hash: string | null = null;
  #wasInUse = false;
  #reads = 0;
  /** The number of the read whose budgets are known. */
  #knownReadNo = 0;
  readonly #batches = new LRUCache<string, true>({ max: BATCHES_MAX });

  constructor(database: Database) {
    this.#database = database;
    this.#settle = createSettleCosts(database);
  }

  /** All that hold, oldest first. */
  get all(): readonly Budget[] {
    return this.#budgets;
  }

  /** The hash of the text that they were read as; null: they were not read. */
  get hash(): string | null {
    return this.#hash;
  }

  /** False while there is no budget at all. */
  get isInUse(): boolean {
    return this.#budgets.length > 0;
  }

  /** True from the first budget on that this process has seen: some of its traces may be left. */
  get wasInUse(): boolean {
    return this.#wasInUse;
  }

  /** The budgets that cover a call. */
  covering(facts: BudgetFacts): readonly Budget[] {
    return this.#budgets.filter(({ scope }) => isCovered(scope, facts));
  }

  /**
   * Replaces the reservations of the stored calls of a turn by what they cost. Sends nothing while
   * there is no budget.
   */
  async settle(turnId: TurnId): Promise<void> {
    if (this.isInUse) await this.#settle(turnId);
  }

  /**
   * Reads the budgets now when a batch is new to this process: its cap may be. Rejects when the
   * database does not answer.
   */
  async know({ batchId }: BudgetFacts): Promise<void> {
    if (batchId === null || this.#batches.has(batchId)) return;
    await this.read();
    this.#batches.set(batchId, true);
  }

  /** The first budget without room for such calls now; null: there is none. */
  reached(facts: BudgetFacts): Budget | null {
    return this.covering(facts).find(({ isReached }) => isReached) ?? null;
  }

  /** Reads them now. Rejects when the database does not answer; they stay as they were. */
  async read(): Promise<readonly Budget[]> {
    const readNo = ++this.#reads;
    const text = await readBudgets(this.#database);
    const budgets = JSON.parse(text) as Budget[];
    // The answer to a later query may have arrived earlier.
    if (readNo < this.#knownReadNo) return budgets;
    this.#knownReadNo = readNo;
    this.#budgets = budgets;
    this.#hash = hash('sha256', text);
    this.#wasInUse ||= this.isInUse;
    return budgets;
  }
}
