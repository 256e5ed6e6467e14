// Who has signed in, and what that person may do.
import { api } from './api.ts';

/** The query of it; every screen below the shell can rely on its answer. */
export const me = {
  queryKey: ['me'],
  queryFn: () => api.getSignIn(),
  staleTime: Number.POSITIVE_INFINITY,
};
