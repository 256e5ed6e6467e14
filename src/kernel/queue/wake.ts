// The wake: reports inside one process that something of a session was committed, so that a waiting request checks
// immediately instead of at its next poll. A commit may also report how messages ended, if a request waits for that. Nothing
// depends on any of it.

/** The kind of commit: a step of a turn, or one that settles messages. */
export type CommitKind = 'progress' | 'settlement';

/**
 * How the messages ended that a commit has settled, by their ids: all of them, or none when it is not known. Passed on here without
 * being read.
 */
export type MessageSettlements = ReadonlyMap<string, unknown>;

export type CommitListener = (sessionId: string, what: CommitKind, settled: MessageSettlements) => void;

export interface Wake {
  /** Notifies every listener. */
  committed(sessionId: string, what: CommitKind, settled?: MessageSettlements): void;
  /** Adds a listener and returns the function that removes it. A listener must not throw. */
  onCommit(listener: CommitListener): () => void;
  /** True when a request waits for messages of the session to be settled. */
  isAwaited(sessionId: string): boolean;
  /** Adds a function that says for which sessions a request waits, and returns the function that removes it. */
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
