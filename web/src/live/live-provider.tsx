// Keeps what is shown up to date: events say what has changed, and what is on the screen of it is
// read again, at most once a second. While the tab is hidden or paused, nothing is read.
import { useQueryClient, type QueryClient } from '@tanstack/react-query';
import {
  createContext,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  type ReactElement,
  type ReactNode,
} from 'react';
import type { ClientEvent } from '../../../src/client/create-client.ts';
import { useSettings } from '../settings.tsx';
import { followEvents, type StreamState } from './follow.ts';
import { onSignInElsewhere } from './sign-in-notice.ts';

interface Live {
  state: StreamState;
  /** Counts turns that have started since the page was opened. */
  startedTurns: number;
}

const Context = createContext<Live>({ state: 'connecting', startedTurns: 0 });
const REFRESH_MS = 1_000;

/**
 * The first parts of the keys of queries that an event makes stale, by the first part of its type.
 */
const STALE_BY: Readonly<Record<string, string>> = {
  turn: 'turn session stats',
  score: 'turn',
  model: 'turn session stats',
  tool: 'turn session stats',
  approval: 'approvals turn session waiting stats',
  message: 'session waiting stats',
  delivery: 'deliveries dead-letters stats',
  bulk: 'bulk dead-letters',
  mcp: 'mcp',
  channel: 'channels stats',
  pairing: 'channels stats',
  worker: 'stats waiting',
  batch: 'batches',
  budget: 'budgets',
  cron: 'crons',
  heartbeat: 'heartbeats',
};

function staleBy({ type }: ClientEvent): string[] {
  // A compaction or a reset changes all of a transcript.
  return (STALE_BY[type.split('.', 1).join()] ?? 'session transcript stats').split(' ');
}

/** Collects stale queries and reloads them, at most once a second. */
function createRefresher(queries: QueryClient): {
  add: (names: readonly string[]) => void;
  addAll: () => void;
  stop: () => void;
} {
  const stale = new Set<string>();
  let isEverything = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const refresh = (): void => {
    timer = undefined;
    if (document.hidden) return;
    if (isEverything) void queries.invalidateQueries();
    else for (const name of stale) void queries.invalidateQueries({ queryKey: [name] });
    stale.clear();
    isEverything = false;
  };
  const plan = (): void => {
    timer ??= setTimeout(refresh, REFRESH_MS);
  };
  const onVisible = (): void => {
    if (!document.hidden && (stale.size > 0 || isEverything)) plan();
  };
  document.addEventListener('visibilitychange', onVisible);
  return {
    add(names) {
      for (const name of names) stale.add(name);
      plan();
    },
    addAll() {
      isEverything = true;
      plan();
    },
    stop() {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    },
  };
}

export function LiveProvider({ children }: { children: ReactNode }): ReactElement {
  const queries = useQueryClient();
  const { isLive } = useSettings();
  const [state, setState] = useState<StreamState>('connecting');
  const [startedTurns, setStartedTurns] = useState(0);
  /**
   * Counts sign-ins in other tabs. Each restarts the stream, which has ended if it was refused, and
   * belongs to the earlier cookie otherwise.
   */
  const [signIns, setSignIns] = useState(0);
  const hasMissed = useRef(false);
  useEffect(
    () =>
      onSignInElsewhere(() => {
        hasMissed.current = true;
        setSignIns((count) => count + 1);
      }),
    [],
  );
  useEffect(() => {
    if (!isLive) {
      hasMissed.current = true;
      return undefined;
    }
    const stop = new AbortController();
    const refresher = createRefresher(queries);
    /**
     * True: events may have been missed, so all that is shown is read again when the stream is
     * open.
     */
    let hasGap = hasMissed.current;
    let isOpen = false;
    hasMissed.current = false;
    followEvents(
      {
        onEvent(event) {
          if (event.type === 'reset') return refresher.addAll();
          if (event.type === 'turn.started') setStartedTurns((count) => count + 1);
          refresher.add(staleBy(event));
        },
        onState(next) {
          setState(next);
          if (next === 'open' && hasGap) refresher.addAll();
          // `connecting` after `open`: another tab has begun to read, which has no last id when
          // there was no event yet.
          hasGap = next !== 'open' && (hasGap || isOpen || next === 'broken');
          isOpen = next === 'open';
        },
      },
      stop.signal,
    );
    return () => {
      stop.abort();
      refresher.stop();
    };
  }, [isLive, queries, signIns]);
  const value = useMemo(() => ({ state, startedTurns }), [state, startedTurns]);
  return <Context value={value}>{children}</Context>;
}

export function useLive(): Live {
  return useContext(Context);
}
