// Many observers as one. One that throws is reported and not called again in this call; the call continues.
import type { CallResult, CallObserver, ModelObserver, StartedCall } from './observer.ts';

interface Watchers {
  /** Those of the model, for every call. */
  observers: readonly ModelObserver[];
  /** Those of this call alone. */
  calls: readonly CallObserver[];
  onFault: (name: string, error: unknown) => void;
}

interface Watcher {
  name: string;
  observer: CallObserver;
}

/** The observers of one call, after its start was reported to them; empty when there are none. */
export function watchAll({ observers, calls, onFault }: Watchers, call: StartedCall): CallObserver {
  let watchers: Watcher[] = calls.map((observer) => ({ name: 'call', observer }));

  const notify = (each: (observer: CallObserver) => void): void => {
    for (const watcher of watchers) {
      try {
        each(watcher.observer);
      } catch (error) {
        watchers = watchers.filter((other) => other !== watcher);
        onFault(watcher.name, error);
      }
    }
  };

  for (const watching of observers) {
    try {
      const observer = watching.watch(call);
      if (observer !== null) watchers.push({ name: watching.name, observer });
    } catch (error) {
      onFault(watching.name, error);
    }
  }
  if (watchers.length === 0) return {};
  return {
    sent: (body, sha256) => notify((observer) => observer.sent?.(body, sha256)),
    bytes: (count) => notify((observer) => observer.bytes?.(count)),
    ended: (end: CallResult) => notify((observer) => observer.ended?.(end)),
  };
}
