// Search: words in what was said and in what failed, newest first. Each hit leads to its place in
// the transcript, or to the turn that failed.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api, type SearchHit } from '../api.ts';
import { hitHref, markedPieces } from '../format/search-hit.ts';
import { Age, Chip, Empty } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { PathLink } from '../parts/path-link.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useQuiet } from '../parts/use-quiet.ts';
import { useSettings } from '../settings.tsx';
import { Choice, TextFilter } from './filters.tsx';

const route = getRouteApi('/app/search');
const PAGE = 20;

type Search = ReturnType<typeof route.useSearch>;

export function SearchScreen(): ReactElement {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/search' });
  const change = (part: Partial<Search>, replace = false): void =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace });
  const hits = useHits(search);
  const found = hits.data?.pages.flatMap(({ items }) => items) ?? [];
  const list = useRef<HTMLOListElement>(null);
  const onKeyDown = useHitKeys(list, hits.isPlaceholderData);
  return (
    <>
      <h1>Search</h1>
      <div onKeyDown={onKeyDown} className="search">
        <div className="filters" role="search">
          <Words q={search.q} onChange={(q) => change({ q }, true)} />
          <Choice name="Kind" value={search.kind} options={CHOICES.search.kind} onChange={(kind) => change({ kind })} />
          <TextFilter name="Session" value={search.session} onChange={(session) => change({ session })} />
        </div>
        <p className="soft" role="status">
          {stateOf(search, hits, found.length)}
        </p>
        {hits.isError && <Problem error={hits.error} />}
        {search.q !== undefined && hits.isSuccess && found.length === 0 && (
          <Empty>
            Nothing that was said has these words. A word also finds those that begin with it.{' '}
            {(search.kind ?? search.session) !== undefined && (
              <Button onClick={() => change({ kind: undefined, session: undefined })}>Clear the filters</Button>
            )}
          </Empty>
        )}
        {search.q !== undefined && (
          <ol className="hits" ref={list} aria-label="Hits">
            {found.map((hit) => (
              <Hit key={hit.id} hit={hit} />
            ))}
          </ol>
        )}
        {hits.hasNextPage && (
          <Button disabled={hits.isFetchingNextPage} onClick={() => void hits.fetchNextPage()}>
            Show older
          </Button>
        )}
      </div>
    </>
  );
}

function stateOf({ q }: Search, hits: ReturnType<typeof useHits>, count: number): string {
  if (q === undefined)
    return 'Words of messages, replies and errors. "In quotation marks": next to each other. -word: not this one.';
  if (hits.isPending || hits.isPlaceholderData) return 'Searching…';
  return count === 0 ? '' : `${count}${hits.hasNextPage ? ' or more' : ''} found, newest first`;
}

function useHits({ q, kind, session }: Search) {
  return useInfiniteQuery({
    queryKey: ['search', q, kind, session],
    queryFn: ({ pageParam, signal }) =>
      api.search(
        { q, kind: CHOICES.search.kind.find((each) => each === kind), session, limit: PAGE, cursor: pageParam },
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    enabled: q !== undefined,
  });
}

/** The field, whose text is in the URL as soon as nothing is typed. */
function Words({ q, onChange }: { q: string | undefined; onChange: (q: string | undefined) => void }): ReactElement {
  const [text, setText] = useState(q ?? '');
  const sent = useRef(q);
  const quiet = useQuiet(text.trim());
  const send = useRef((words: string): void => void words);
  useEffect(() => {
    send.current = (words) => {
      const next = words === '' ? undefined : words;
      if (next === sent.current) return;
      sent.current = next;
      onChange(next);
    };
  });
  useEffect(() => send.current(quiet), [quiet]);
  // Another address, such as that of a link to this screen.
  useEffect(() => {
    if (q === sent.current) return;
    sent.current = q;
    setText(q ?? '');
  }, [q]);
  return (
    <label className="search-words">
      Words
      <input
        type="search"
        autoFocus
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || text.trim() === (sent.current ?? '')) return;
          // Words that were just typed are searched now; there is no hit of theirs to open yet.
          event.stopPropagation();
          send.current(text.trim());
        }}
      />
    </label>
  );
}

const NAMES = { message: 'Message', reply: 'Reply', error: 'Error' } as const;
const TONES = { message: undefined, reply: 'live', error: 'bad' } as const;

function Hit({ hit }: { hit: SearchHit }): ReactElement {
  const { kind, sessionTitle, at, snippet, entryState } = hit;
  return (
    <li>
      <PathLink href={hitHref(hit)}>
        <span className="row">
          <Chip tone={TONES[kind]}>{NAMES[kind]}</Chip>
          <strong>
            <SafeText text={sessionTitle} />
          </strong>
          <span className="soft">
            <Age at={at} />
            {entryState !== null && entryState !== 'active' && `, ${entryState}`}
          </span>
        </span>
        <span className="hit-words">
          {markedPieces(snippet).map(({ text, isHit }, n) =>
            isHit ? (
              <mark key={n}>
                <SafeText text={text} />
              </mark>
            ) : (
              <SafeText key={n} text={text} />
            ),
          )}
        </span>
      </PathLink>
    </li>
  );
}

/**
 * The keys of the list: from the field, the arrow leads into it, and Enter opens its first hit,
 * unless the hits are those of earlier words.
 */
function useHitKeys(list: { current: HTMLOListElement | null }, isOld: boolean): (event: KeyboardEvent) => void {
  const { hasShortcuts } = useSettings();
  return (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    const links = [...(list.current?.querySelectorAll('a') ?? [])];
    const isField = target instanceof HTMLInputElement;
    if (ctrlKey || metaKey || altKey || target instanceof HTMLSelectElement || links.length === 0) return;
    if (isField && target.type === 'search' && key === 'Enter') return isOld ? undefined : links[0]?.click();
    const isLetter = key === 'j' || key === 'k';
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[key];
    if (step === undefined || (isLetter && (isField || !hasShortcuts))) return;
    event.preventDefault();
    const at = links.findIndex((link) => link === target);
    if (at + step < 0) return list.current?.closest('.search')?.querySelector('input')?.focus();
    links[Math.min(at + step, links.length - 1)]?.focus();
  };
}
