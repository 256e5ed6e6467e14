// The guarantees of a session, as a model in memory: which messages wait, which a turn takes, which
// join it, and how each ends. It is written from the rules of the queue modes alone, without rows
// or workers.
import type { QueueMode } from '../../../src/core/queue-mode.ts';

export type Fate = 'answered' | 'cancelled' | 'dropped' | 'failed';

export interface ModelMessage {
  name: string;
  mode: QueueMode;
  route: string;
}

type Stop = 'abort' | 'interrupt' | 'rollback';

interface ModelTurn {
  taken: ModelMessage[];
  stop: Stop | null;
}

export class ReferenceSession {
  /** How each message has ended so far. */
  readonly fates = new Map<string, Fate>();
  /** The names of the messages that every turn took or was joined by, turn by turn. */
  readonly turns: string[][] = [];
  #waiting: ModelMessage[] = [];
  #turn: ModelTurn | null = null;
  /** A message for the running turn has arrived since the worker last looked. */
  #hasNewSteer = false;
  #wasEverSteered = false;

  get isBusy(): boolean {
    return this.#turn !== null;
  }

  get isIdle(): boolean {
    return this.#turn === null && this.#waiting.length === 0;
  }

  send(message: ModelMessage): void {
    const { mode } = message;
    if (this.#turn !== null && mode === 'reject') {
      this.fates.set(message.name, 'dropped');
      return;
    }
    this.#waiting.push(message);
    if (this.#turn === null) return;
    if (mode === 'interrupt') this.#turn.stop ??= 'interrupt';
    if (mode === 'rollback') this.#turn.stop = 'rollback';
    if (mode === 'steer' || mode === 'steer-backlog') this.#hasNewSteer = this.#wasEverSteered = true;
  }

  /** Stops the turn and all waiting messages. */
  abort(): void {
    for (const { name } of this.#waiting) this.fates.set(name, 'cancelled');
    this.#waiting = [];
    if (this.#turn !== null) this.#turn.stop = 'abort';
  }

  /** A worker opens the next turn. */
  start(): void {
    const [first] = this.#waiting;
    if (first === undefined) throw new Error('nothing waits');
    const alone = (message: ModelMessage): boolean => message.mode === 'followup' || message.mode === 'reject';
    let count = 1;
    while (!alone(first) && this.#waiting[count]?.route === first.route && !alone(this.#waiting[count] ?? first)) {
      count += 1;
    }
    this.#turn = { taken: this.#waiting.splice(0, count), stop: null };
    this.turns.push(this.#turn.taken.map(({ name }) => name));
    this.#hasNewSteer = false;
  }

  /**
   * The worker of the turn has crashed in a batch, and another takes over: it ends the batch, and
   * looks for messages that have arrived.
   */
  takeOver(): void {
    this.#hasNewSteer = this.#wasEverSteered;
    this.endBatch();
  }

  /** The results of a batch are committed. True: the turn continues. */
  endBatch(): boolean {
    const turn = this.#turn;
    if (turn === null) throw new Error('no turn runs');
    if (turn.stop !== null) {
      this.#end('cancelled');
      return false;
    }
    if (this.#hasNewSteer) this.#join(turn);
    this.#hasNewSteer = false;
    return true;
  }

  /** The last answer of the turn is committed. */
  endTurn(): void {
    this.#end(this.#turn?.stop == null ? 'answered' : 'cancelled');
  }

  #join(turn: ModelTurn): void {
    const route = turn.taken[0]?.route;
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || next.route !== route || !next.mode.startsWith('steer')) return;
      this.#waiting.shift();
      turn.taken.push(next);
      this.turns.at(-1)?.push(next.name);
      // It also gets its own turn, after all waiting messages.
      if (next.mode === 'steer-backlog') this.#waiting.push({ ...next, name: `${next.name} again`, mode: 'followup' });
    }
  }

  #end(fate: Fate): void {
    for (const { name } of this.#turn?.taken ?? []) this.fates.set(name, fate);
    this.#turn = null;
  }
}
