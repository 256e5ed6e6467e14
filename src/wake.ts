// The wake: says inside one process that something of a session was committed, so that whoever waits looks at once instead of
// at its next poll. It carries no facts and nothing depends on it.

/** What was committed: a moment of a turn, or something by which messages are settled. */
export type Committed = 'progress' | 'settlement';

export interface Wake {
  /** Tells every listener. */
  committed(sessionId: string, what: Committed): void;
  /** Adds a listener and returns the function that removes it. A listener must not throw. */
  onCommit(listener: (sessionId: string, what: Committed) => void): () => void;
}

/** Makes the wake of a process. */
export function createWake(): Wake {
  const listeners = new Set<(sessionId: string, what: Committed) => void>();
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
