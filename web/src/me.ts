// Who has signed in, and what that person may do.
import { useSuspenseQuery } from '@tanstack/react-query';
import { api } from './api.ts';

/** The query of it; every screen below the shell can rely on its answer. */
export const me = {
  queryKey: ['me'],
  queryFn: () => api.getSignIn(),
  staleTime: Number.POSITIVE_INFINITY,
};

/** Whether that person's key sees the whole service, and not only some agents or sessions. */
export function useSeesAll(): boolean {
  return useSuspenseQuery(me).data.sees === null;
}

/** Whether that person may change something: a viewer has no buttons for it. */
export function useCanAct(): boolean {
  return useSuspenseQuery(me).data.role !== 'viewer';
}

/** Whether that person may change much at once, which only a key for the whole service may. */
export function useCanActOnMany(): boolean {
  const canAct = useCanAct();
  return useSeesAll() && canAct;
}
