// The transcript of a session as a conversation, oldest first, which opens at its end. Only the
// rows that can be seen are in the document, so it may have any length; a link to an entry loads
// the list up to it.
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Suspense, use, useCallback, useEffect, useMemo, useRef, useState, type ReactElement } from 'react';
import { useSuspenseQuery } from '@tanstack/react-query';
import type { Entry, ListedTurn, Session } from '../api.ts';
import { rowsOf, shownRows, type Row, type RunRow } from '../format/conversation.ts';
import { Empty } from '../parts/bits.tsx';
import { Loading } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { me } from '../me.ts';
import { KeptContext, type Kept } from '../words/kept.ts';
import { loadMarkdown } from '../words/words.tsx';
import { RunBlock, SaidBlock } from './entry-block.tsx';
import { FailedBlock, useFailedTurns } from './failed-turn.tsx';
import { LiveReply } from './live-reply.tsx';
import { Fork } from './session-actions.tsx';
import { useEntries } from './use-entries.ts';
import { useReading } from './use-reading.ts';

/** Runs of more calls are folded at first. */
const OPEN_CALLS_MAX = 60;
const NO_TURNS: readonly ListedTurn[] = [];

export function Transcript({ session }: { session: Session }): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const { state, transcript } = useSearch({ strict: false });
  const [forkAt, setForkAt] = useState<Entry | null>(null);
  const { list, entries, onEnd } = useEntries(session.key);
  const allFailed = useFailedTurns(session.key);
  const failed = transcript === undefined ? allFailed : NO_TURNS;
  const hasRows = list.isSuccess && entries.length + failed.length > 0;
  // Loaded together with the entries.
  void loadMarkdown();
  const turnId = transcript === undefined ? session.turnId : null;
  const isEmpty = list.isSuccess && !hasRows;
  return (
    <section className="conversation" aria-labelledby="transcript">
      <TranscriptHead sessionKey={session.key} />
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {isEmpty && <Empty>This transcript has no entries. The first message begins it.</Empty>}
      {isEmpty && turnId !== null && <LiveReply key={turnId} turnId={turnId} lastAnswerAt={null} />}
      {hasRows && (
        <Suspense fallback={<Loading />}>
          <Entries
            // Another list begins at its own end.
            key={`${state ?? ''} ${transcript ?? ''}`}
            entries={entries}
            failed={failed}
            session={session}
            turnId={turnId}
            hasMore={list.hasNextPage}
            isLoading={list.isFetchingNextPage}
            onStart={onEnd}
            onFork={who.role === 'viewer' ? undefined : setForkAt}
          />
        </Suspense>
      )}
      {forkAt !== null && <Fork session={session} entry={forkAt} onClose={() => setForkAt(null)} />}
    </section>
  );
}

interface EntriesProps {
  /** Newest first. */
  entries: readonly Entry[];
  /** Oldest first. */
  failed: readonly ListedTurn[];
  session: Session;
  /** The turn that runs; null: none does. */
  turnId: string | null;
  hasMore: boolean;
  isLoading: boolean;
  onStart: () => void;
  onFork: ((entry: Entry) => void) | undefined;
}

/** Which runs of calls are open: as a person chose, or the short ones. */
function useRuns(kept: Kept) {
  const [choices, setChoices] = useState(0);
  const isOpen = useCallback(
    ({ id, calls }: RunRow): boolean =>
      (kept.get(`run ${id}`) as boolean | undefined) ?? calls.length <= OPEN_CALLS_MAX,
    // Another function after each choice.
    [kept, choices],
  );
  const toggle = (run: RunRow): void => {
    kept.set(`run ${run.id}`, !isOpen(run));
    setChoices(choices + 1);
  };
  return { isOpen, toggle };
}

function Entries(props: EntriesProps): ReactElement {
  const { entries, failed, session, turnId, hasMore, isLoading, onStart, onFork } = props;
  const answeredAt = entries.find(({ kind }) => kind === 'answer')?.createdAt ?? null;
  // Rows do not change their height after they are there.
  use(loadMarkdown());
  const box = useRef<HTMLDivElement>(null);
  const [kept] = useState<Kept>(() => new Map());
  const { isOpen, toggle } = useRuns(kept);
  const rows = useMemo(() => {
    const oldest = entries.at(-1)?.createdAt ?? '';
    // Those of earlier entries come with them.
    const near = hasMore ? failed.filter(({ startedAt }) => startedAt >= oldest) : failed;
    return shownRows(rowsOf(entries.toReversed(), near), isOpen);
  }, [entries, failed, hasMore, isOpen]);
  const failedIds = useMemo(() => new Set(failed.map(({ id }) => id)), [failed]);
  const reading = useReading({ box, rows, sessionKey: session.key, onStart });
  const { virtual, moveTo, setCurrentId } = reading;
  const missing = useLinkedEntry({ entries, rows, hasMore, onStart, moveTo });
  return (
    <KeptContext value={kept}>
      {missing !== null && (
        <p role="status">
          Entry #{missing} is not in this list. The model may no longer see it: select “also what the model no longer
          sees”.
        </p>
      )}
      {isLoading && <p className="soft loading-earlier">Loading earlier entries…</p>}
      <div
        ref={box}
        className="transcript"
        data-scroll-restoration-id={`transcript ${session.key}`}
        tabIndex={0}
        role="feed"
        aria-label="Entries"
        aria-busy={isLoading}
        onScroll={reading.onScroll}
      >
        <div role="presentation" ref={reading.content}>
          <div role="presentation" className="table-sizer" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, key, start }) => {
              const row = rows[index]!;
              const place = { index, count: hasMore ? -1 : rows.length, sessionKey: session.key };
              return (
                <div
                  key={key}
                  ref={virtual.measureElement}
                  data-index={index}
                  role="presentation"
                  style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}
                  onFocus={() => setCurrentId(String(key))}
                >
                  {row.kind === 'run' && (
                    <RunBlock run={row} {...place} isOpen={isOpen(row)} onToggle={() => toggle(row)} />
                  )}
                  {row.kind === 'failed' && <FailedBlock row={row} {...place} />}
                  {row.kind === 'said' && (
                    <SaidBlock row={row} {...place} onFork={onFork} isOfFailed={failedIds.has(row.entry.turnId)} />
                  )}
                </div>
              );
            })}
          </div>
          {turnId !== null && <LiveReply key={turnId} turnId={turnId} lastAnswerAt={answeredAt} />}
        </div>
      </div>
    </KeptContext>
  );
}

/**
 * Moves to the entry that the URL names, after it was loaded. Its number, if the list does not have
 * it; otherwise null.
 */
function useLinkedEntry(props: {
  entries: readonly Entry[];
  rows: readonly Row[];
  hasMore: boolean;
  onStart: () => void;
  moveTo: (index: number, align: 'start') => void;
}): string | null {
  const { entries, rows, hasMore, onStart, moveTo } = props;
  const { entry: linked } = useSearch({ strict: false });
  const reached = useRef<string | undefined>(undefined);
  const seq = Number(linked);
  const isLoaded = linked !== undefined && entries.some((entry) => entry.seq === seq);
  const index = isLoaded ? rows.findLastIndex((row) => firstSeqOf(row) <= seq) : -1;
  const isAbove = linked !== undefined && !isLoaded && hasMore && (entries.at(-1)?.seq ?? 0) > seq;
  useEffect(() => {
    if (linked === reached.current) return;
    if (isAbove) return onStart();
    reached.current = linked;
    if (index !== -1) moveTo(index, 'start');
  }, [linked, index, isAbove, onStart, moveTo]);
  return linked === undefined || isLoaded || isAbove ? null : linked;
}

function firstSeqOf(row: Row): number {
  if (row.kind === 'failed') return Number.POSITIVE_INFINITY;
  return row.kind === 'said' ? row.entry.seq : (row.rows[0]?.entry.seq ?? 0);
}

/** Which transcript is shown, and whether with what the model no longer sees. */
function TranscriptHead({ sessionKey }: { sessionKey: string }): ReactElement {
  const { state, transcript } = useSearch({ strict: false });
  const navigate = useNavigate();
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
              to: '/sessions/$key',
              params: { key: sessionKey },
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
