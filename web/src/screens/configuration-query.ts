// The configuration, as more than one tab asks for it.
import { queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';

/** It changes with a restart only. */
const FRESH_MS = 60_000;

export const configuration = queryOptions({
  queryKey: ['config'],
  queryFn: () => api.getConfig(),
  staleTime: FRESH_MS,
});
