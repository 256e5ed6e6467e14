// What needs an operator, as the overview lists it and the rail counts it, and who is notified of
// it.
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { api } from './api.ts';
import { useSettings } from './settings.tsx';

/** Where alerts are sent. */
export const destinationsQuery = {
  queryKey: ['stats', 'alert-destinations'],
  queryFn: () => api.listAlertDestinations(),
};

type Attention = Awaited<ReturnType<typeof api.getAttention>>;

/**
 * Some problems are the absence of something, for which there is no event. The service reads them
 * once a second at most, for all pages.
 */
export const ATTENTION_POLL_MS = 8_000;

export function useAttention(): UseQueryResult<Attention> {
  const { isLive } = useSettings();
  return useQuery({
    queryKey: ['stats', 'attention'],
    queryFn: () => api.getAttention(),
    refetchInterval: isLive ? ATTENTION_POLL_MS : false,
  });
}
