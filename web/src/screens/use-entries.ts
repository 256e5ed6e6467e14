// The entries of a transcript, newest first. Older pages are read when they are reached, and once:
// when something happens in the session, only the newest page is read again.
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo } from 'react';
import { exactApi, type Entry, type EntryPage } from '../api.ts';
import { withNewest } from '../format/merge-entries.ts';
import { useSettings } from '../settings.tsx';
import { PART_CHARS } from './entry-parts.tsx';

/**
 * Entries of the newest page, which fill the screen, and of the others, which the service also
 * bounds by their bytes.
 */
const NEWEST = 60;
const PAGE = 200;
/** How often the newest page is read again while a tool runs, in milliseconds. */
const CALLS_POLL_MS = 2_000;
/** What the newest page is until it is read again: the list has it. */
const NOT_READ: EntryPage = { items: [], nextCursor: null };

export function useEntries(sessionKey: string) {
  const { state, transcript } = useSearch({ strict: false });
  const queries = useQueryClient();
  const { isLive } = useSettings();
  const read = (limit: number, cursor: string | undefined, signal: AbortSignal): Promise<EntryPage> =>
    exactApi.listEntries(
      {
        key: sessionKey,
        order: 'desc',
        partChars: PART_CHARS,
        limit,
        cursor,
        transcript: transcript === undefined ? undefined : Number(transcript),
        ...(state === 'all' ? { state: 'all' as const } : {}),
      },
      { signal },
    );
  const list = useInfiniteQuery({
    queryKey: ['transcript', sessionKey, state, transcript],
    queryFn: ({ pageParam, signal }) => read(pageParam === undefined ? NEWEST : PAGE, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const newest = useQuery({
    // Begins as the session's does: its events refresh it.
    queryKey: ['session', sessionKey, 'newest', state, transcript],
    queryFn: ({ signal }) => read(NEWEST, undefined, signal),
    initialData: NOT_READ,
    // That one of several calls has ended is no event.
    refetchInterval: ({ state: { data } }) => isLive && data?.items.some(hasRunningCall) === true && CALLS_POLL_MS,
  });
  const pages = list.data?.pages;
  const joined = useMemo(() => joinedOf(pages, newest.data), [pages, newest.data]);
  useEffect(() => {
    if (joined === null) void queries.invalidateQueries({ queryKey: ['transcript', sessionKey] });
    // Also of pages that were read again: as much can have happened meanwhile.
  }, [joined, pages, queries, sessionKey]);
  const entries = joined ?? pages?.flatMap(({ items }) => items) ?? [];
  const { fetchNextPage, hasNextPage, isFetching } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetching]);
  return { list, entries, onEnd };
}

function hasRunningCall({ calls }: Entry): boolean {
  return calls.some(({ state }) => state === 'running');
}

function joinedOf(pages: readonly EntryPage[] | undefined, newest: EntryPage): Entry[] | null {
  if (pages === undefined) return [];
  return newest === NOT_READ ? pages.flatMap(({ items }) => items) : withNewest(pages, newest);
}
