// Whether the shown data can still be read: the page polls the service every few seconds, because a
// service without its database sends no event about it.
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { api } from '../api.ts';
import { useSettings } from '../settings.tsx';
import { useLive } from './live-provider.tsx';

const POLL_MS = 4_000;

export const readyQuery = queryOptions({ queryKey: ['ready'], queryFn: () => api.getReadiness(), retry: false });

interface Outage {
  /** When the page has last read something; ISO 8601. Null: never. */
  readAt: string | null;
}

/** Whether the service or what it needs is down now; null: it is not, or the page is paused. */
export function useOutage(): Outage | null {
  const { isLive } = useSettings();
  const { state } = useLive();
  const { error, dataUpdatedAt } = useQuery({ ...readyQuery, refetchInterval: isLive ? POLL_MS : false });
  if (!isLive || (error === null && state !== 'broken')) return null;
  return { readAt: dataUpdatedAt === 0 ? null : new Date(dataUpdatedAt).toISOString() };
}

/** Has everything that is shown read again when an outage is over. */
export function useRecovery(outage: Outage | null): void {
  const queries = useQueryClient();
  const wasAway = useRef(false);
  const isAway = outage !== null;
  useEffect(() => {
    if (wasAway.current && !isAway)
      void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'ready' });
    wasAway.current = isAway;
  }, [isAway, queries]);
}
