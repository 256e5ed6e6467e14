// The wake: says inside one process that something of a session was committed, so that whoever waits looks at once instead of
// at its next poll. It carries no facts and nothing depends on it.

export interface Wake {
  /** Tells every listener. */
  committed(sessionId: string): void;
  /** Adds a listener and returns the function that removes it. A listener must not throw. */
  onCommit(listener: (sessionId: string) => void): () => void;
}

/** Makes the wake of a process. */
export function createWake(): Wake {
  const listeners = new Set<(sessionId: string) => void>();
  return {
    committed(sessionId) {
      for (const listener of listeners) listener(sessionId);
    },
    onCommit(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
