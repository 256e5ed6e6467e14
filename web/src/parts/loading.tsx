// What a screen shows until it has its first data. A screen that reads several lists shows them
// together: each of them would push down what is below it.
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { Problem } from './problem.tsx';

/**
 * True when each query has an answer, or has failed once: what still fails is shown where it
 * belongs.
 */
export function haveBegun(...queries: readonly Pick<UseQueryResult, 'isPending' | 'failureCount'>[]): boolean {
  return queries.every(({ isPending, failureCount }) => !isPending || failureCount > 0);
}

export function Loading(): ReactElement {
  return <p className="soft">Loading…</p>;
}

type Shown = Pick<UseQueryResult, 'isError' | 'error' | 'refetch'>;

/** What went wrong with a query; nothing if it did not. */
export function Fault({ query }: { query: Shown }): ReactElement | null {
  return query.isError ? <Problem error={query.error} onRetry={() => void query.refetch()} /> : null;
}

/** Stands in the place of the data that a query does not have yet, or could not get. */
export function NoData({ query }: { query: Shown }): ReactElement {
  return query.isError ? <Fault query={query} /> : <Loading />;
}
