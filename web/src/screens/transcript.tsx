// The transcript of a session, newest first. Only the entries that can be seen are in the document, so it may have any length; a link to an
// entry loads the list up to it.
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { defaultRangeExtractor, type Range } from '@tanstack/react-virtual';
import { useCallback, useEffect, useRef, useState, type KeyboardEvent, type ReactElement, type RefObject } from 'react';
import { useSuspenseQuery } from '@tanstack/react-query';
import type { Entry, Session } from '../api.ts';
import { Empty } from '../parts/bits.tsx';
import { useSeenRows } from '../parts/data-table.tsx';
import { Problem } from '../parts/problem.tsx';
import { me } from '../me.ts';
import { useSettings } from '../settings.tsx';
import { EntryBlock, type Kept } from './entry-block.tsx';
import { Fork } from './session-actions.tsx';
import { useEntries } from './use-entries.ts';

const route = getRouteApi('/app/sessions/$key');
const ENTRY_PX = 110;
const GAP_PX = 10;
/** Below this, the newest entry is in view, and a new one appears above it. */
const TOP_PX = 8;

export function Transcript({ session }: { session: Session }): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const { state, transcript } = route.useSearch();
  const [forkAt, setForkAt] = useState<Entry | null>(null);
  const { list, entries, onEnd } = useEntries(session.key);
  return (
    <section aria-labelledby="transcript">
      <TranscriptHead sessionKey={session.key} />
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && entries.length === 0 && (
        <Empty>This transcript has no entries. The first message begins it.</Empty>
      )}
      {entries.length > 0 && (
        <Entries
          // Another list begins at its own top.
          key={`${state ?? ''} ${transcript ?? ''}`}
          entries={entries}
          sessionKey={session.key}
          hasMore={list.hasNextPage}
          isLoading={list.isFetchingNextPage}
          onEnd={onEnd}
          onFork={who.role === 'viewer' ? undefined : setForkAt}
        />
      )}
      {forkAt !== null && <Fork session={session} entry={forkAt} onClose={() => setForkAt(null)} />}
    </section>
  );
}

interface EntriesProps {
  entries: readonly Entry[];
  sessionKey: string;
  hasMore: boolean;
  isLoading: boolean;
  onEnd: () => void;
  onFork: ((entry: Entry) => void) | undefined;
}

function Entries(props: EntriesProps): ReactElement {
  const { entries, sessionKey, hasMore, isLoading, onEnd, onFork } = props;
  const box = useRef<HTMLDivElement>(null);
  /** What was opened in entries that may have left the document since. */
  const kept = useRef<Kept>(new Map());
  const { virtual, moveTo, onKeyDown, setCurrentId } = useReading({ box, entries, sessionKey, onEnd });
  const missing = useLinkedEntry({ entries, hasMore, onEnd, moveTo });
  return (
    <>
      {missing !== null && (
        <p role="status">
          Entry #{missing} is not in this list. The model may no longer see it: select “also what the model no longer
          sees”.
        </p>
      )}
      <div
        ref={box}
        className="transcript"
        data-scroll-restoration-id={`transcript ${sessionKey}`}
        tabIndex={0}
        role="feed"
        aria-label="Entries"
        aria-busy={isLoading}
        onKeyDown={onKeyDown}
      >
        <div role="presentation" className="table-sizer" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              role="presentation"
              style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}
              onFocus={() => setCurrentId(String(key))}
            >
              <EntryBlock
                entry={entries[index]!}
                place={{ index, count: hasMore ? -1 : entries.length }}
                kept={kept.current}
                sessionKey={sessionKey}
                onFork={onFork}
              />
            </div>
          ))}
        </div>
      </div>
      {isLoading && <p className="soft">Loading earlier entries…</p>}
    </>
  );
}

/** The entries in the document, the one that has the focus, and the keys that move it. */
function useReading(
  props: Pick<EntriesProps, 'entries' | 'sessionKey' | 'onEnd'> & { box: RefObject<HTMLDivElement | null> },
) {
  const { box, entries, sessionKey, onEnd } = props;
  const [currentId, setCurrentId] = useState<string | null>(null);
  /** The entry that gets the focus as soon as it is in the document. */
  const focused = useRef<string | null>(null);
  const { hasShortcuts } = useSettings();
  const current = entries.findIndex(({ id }) => id === currentId);
  const virtual = useSeenRows({
    body: box,
    place: `transcript ${sessionKey}`,
    rows: entries,
    idOf: ({ id }) => id,
    onEnd,
    rowPx: ENTRY_PX,
    gap: GAP_PX,
    // New entries do not move those that are being read.
    anchorTo: (box.current?.scrollTop ?? 0) > TOP_PX ? 'end' : 'start',
    // The entry that has the focus keeps it when it is scrolled out of view.
    rangeExtractor: useCallback((range: Range) => withIndex(defaultRangeExtractor(range), current), [current]),
  });
  const moveTo = useCallback(
    (index: number) => {
      const entry = entries[index];
      if (entry === undefined) return;
      focused.current = entry.id;
      setCurrentId(entry.id);
      virtual.scrollToIndex(index, { align: 'start' });
    },
    [entries, virtual],
  );
  useEffect(() => {
    if (focused.current === null || focused.current !== currentId) return;
    focused.current = null;
    box.current?.querySelector<HTMLElement>(`[data-index="${current}"] > article`)?.focus({ preventScroll: true });
  });

  function onKeyDown(event: KeyboardEvent): void {
    const step = { j: 1, k: -1 }[event.key];
    if (step === undefined || !hasShortcuts || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moveTo(current === -1 ? (virtual.range?.startIndex ?? 0) : current + step);
  }

  return { virtual, moveTo, onKeyDown, setCurrentId };
}

function withIndex(indexes: number[], index: number): number[] {
  if (index === -1 || indexes.includes(index)) return indexes;
  return [...indexes, index].toSorted((one, other) => one - other);
}

/** Moves to the entry that the URL names, after it was loaded. Its number, if the list does not have it; otherwise null. */
function useLinkedEntry(props: {
  entries: readonly Entry[];
  hasMore: boolean;
  onEnd: () => void;
  moveTo: (index: number) => void;
}): string | null {
  const { entries, hasMore, onEnd, moveTo } = props;
  const { entry: linked } = route.useSearch();
  const reached = useRef<string | undefined>(undefined);
  const seq = Number(linked);
  const index = linked === undefined ? -1 : entries.findIndex((entry) => entry.seq === seq);
  const isBelow = linked !== undefined && index === -1 && hasMore && (entries.at(-1)?.seq ?? 0) > seq;
  useEffect(() => {
    if (linked === reached.current) return;
    if (isBelow) return onEnd();
    reached.current = linked;
    if (index !== -1) moveTo(index);
  }, [linked, index, isBelow, onEnd, moveTo]);
  return linked === undefined || index !== -1 || isBelow ? null : linked;
}

/** Which transcript is shown, and whether with what the model no longer sees. */
function TranscriptHead({ sessionKey }: { sessionKey: string }): ReactElement {
  const { state, transcript } = route.useSearch();
  const navigate = useNavigate({ from: '/sessions/$key' });
  return (
    <div className="row">
      <h2 id="transcript">Transcript{transcript !== undefined && ` ${transcript}, from before a reset`}</h2>
      {transcript !== undefined && (
        <Link to="/sessions/$key" params={{ key: sessionKey }}>
          the current one
        </Link>
      )}
      <label className="row">
        <input
          type="checkbox"
          checked={state === 'all'}
          onChange={(event) =>
            void navigate({
              search: ({ state: _state, ...before }) => (event.target.checked ? { ...before, state: 'all' } : before),
              replace: true,
            })
          }
        />
        also what the model no longer sees
      </label>
    </div>
  );
}
