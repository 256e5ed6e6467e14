// The wake: says inside one process that something of a session was committed, so that whoever waits looks at once instead of
// at its next poll. A commit may bring along how messages ended, if somebody waits for that. Nothing depends on any of it.

/** What was committed: a moment of a turn, or something by which messages are settled. */
export type CommitKind = 'progress' | 'settlement';

/**
 * How the messages ended that a commit has settled, by their ids: all of them, or none when it is not known. In the form of whoever
 * waits for it; here it is only handed on.
 */
export type MessageSettlements = ReadonlyMap<string, unknown>;

export type CommitListener = (sessionId: string, what: CommitKind, settled: MessageSettlements) => void;

export interface Wake {
  /** Tells every listener. */
  committed(sessionId: string, what: CommitKind, settled?: MessageSettlements): void;
  /** Adds a listener and returns the function that removes it. A listener must not throw. */
  onCommit(listener: CommitListener): () => void;
  /** True when somebody waits for how messages of the session end. */
  isAwaited(sessionId: string): boolean;
  /** Adds one who knows for which sessions somebody waits, and returns the function that removes it. */
  addWaiter(waitsFor: (sessionId: string) => boolean): () => void;
}

const NONE: MessageSettlements = new Map();

/** Makes the wake of a process. */
export function createWake(): Wake {
  const listeners = new Set<CommitListener>();
  const waiters = new Set<(sessionId: string) => boolean>();
  return {
    committed(sessionId, what, settled = NONE) {
      for (const listener of listeners) listener(sessionId, what, settled);
    },
    onCommit(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    isAwaited: (sessionId) => [...waiters].some((waitsFor) => waitsFor(sessionId)),
    addWaiter(waitsFor) {
      waiters.add(waitsFor);
      return () => waiters.delete(waitsFor);
    },
  };
}
