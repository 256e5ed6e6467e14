// The wake: reports inside one process that something of a session was committed, so that a waiting request checks
// immediately instead of at its next poll. Nothing depends on it.

/** The kind of commit: a step of a turn, or one that settles messages. */
export type CommitKind = 'progress' | 'settlement';

export type CommitListener = (sessionId: string, what: CommitKind) => void;

export interface Wake {
  /** Notifies every listener. */
  committed(sessionId: string, what: CommitKind): void;
  /** Adds a listener and returns the function that removes it. A listener must not throw. */
  onCommit(listener: CommitListener): () => void;
}

/** Makes the wake of a process. */
export function createWake(): Wake {
  const listeners = new Set<CommitListener>();
  return {
    committed(sessionId, what) {
      for (const listener of listeners) listener(sessionId, what);
    },
    onCommit(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
