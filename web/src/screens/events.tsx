// The live log of events, of one session or of some types. It has a stream of its own, because that
// of the tabs leaves types out. At most so many events are kept, and only those are in the document
// that can be seen.
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState, type ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { countText } from '../format/amounts.ts';
import { createEventLog, type EventLog, type LoggedEvent } from '../live/event-log.ts';
import { Chip, Empty, Time } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { quoted } from '../parts/copy-row.tsx';
import { TurnLink } from '../parts/links.tsx';
import { SessionLink } from '../parts/short-key.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useSettings } from '../settings.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';

const route = getRouteApi('/app/events');
const ROW_PX = 34;
const OVERSCAN = 6;

const STATES = {
  connecting: { text: 'Connecting', tone: 'warn' },
  open: { text: 'Receiving', tone: 'good' },
  broken: { text: 'Reconnecting', tone: 'bad' },
  failed: { text: 'Stopped', tone: 'bad' },
} as const;

/** All types by their first word, then each. */
const FAMILIES = Map.groupBy(CHOICES.streamEvents.types, (type) => type.split('.')[0] ?? '');
const TYPE_WORDS: Readonly<Record<string, string>> = Object.fromEntries(
  [...FAMILIES].filter(([, types]) => types.length > 1).map(([family, types]) => [types.join(','), `all of ${family}`]),
);
const TYPES = [...Object.keys(TYPE_WORDS), ...CHOICES.streamEvents.types];

/** The types of a filter, which a comma separates. */
const typesOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map((type) => type.trim())
    .filter((type) => type !== '');

export function Events(): ReactElement {
  const { types, session } = route.useSearch();
  const navigate = useNavigate({ from: '/events' });
  const { isLive } = useSettings();
  const [isPaused, setPaused] = useState(false);
  const [log, setLog] = useState<EventLog | null>(null);
  const [, setVersion] = useState(0);

  // A log belongs to its filters; a pause keeps it, and its last id.
  useEffect(() => setLog(createEventLog({ types: typesOf(types), session })), [types, session]);
  const isFollowing = isLive && !isPaused;
  useEffect(() => log?.onChange(() => setVersion((version) => version + 1)), [log]);
  useEffect(() => {
    if (log === null || !isFollowing) return undefined;
    const stop = new AbortController();
    log.follow(stop.signal);
    return () => stop.abort();
  }, [log, isFollowing]);

  const change = (part: Partial<ReturnType<typeof route.useSearch>>): void =>
    void navigate({ search: (before) => ({ ...before, ...part }) });
  const isFiltered = (types ?? session) !== undefined;
  const state = log === null ? STATES.connecting : STATES[log.state];
  return (
    <>
      <div className="row">
        <h1>Events</h1>
        <Chip role="status" tone={isFollowing ? state.tone : undefined}>
          {isFollowing ? state.text : 'Paused'}
        </Chip>
        <span className="row end">
          <Button aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused ? 'Resume events' : 'Pause events'}
          </Button>
          <Button onClick={() => log?.clear()}>Clear the list</Button>
          <CopyButton name="Copy as curl" text={() => curlOf({ types: typesOf(types), session, after: log?.lastId })} />
        </span>
      </div>
      <Filters>
        <Choice
          name="Types"
          value={types}
          options={TYPES}
          words={TYPE_WORDS}
          onChange={(next) => change({ types: next })}
        />
        <TextFilter name="Session" value={session} onChange={(next) => change({ session: next })} />
      </Filters>
      {log?.error != null && <Problem error={log.error} />}
      <p className="soft">
        Last event <span className="mono">{log?.lastId ?? 'none yet'}</span>, {countText(log?.events.length ?? 0)} shown
        {(log?.dropped ?? 0) > 0 && `, ${countText(log?.dropped ?? 0)} older ones dropped`}
      </p>
      {log === null || log.events.length === 0 ? (
        <>
          <Empty command={'npx holdfast send main "Hello"'}>
            No event {isFiltered && 'that fits the filters '}has happened in the last hour. Events appear as they
            happen; this command causes some:
          </Empty>
          {isFiltered && (
            <Button onClick={() => change({ types: undefined, session: undefined })}>Clear the filters</Button>
          )}
        </>
      ) : (
        <EventRows events={log.events} />
      )}
    </>
  );
}

/** Newest first. */
function EventRows({ events }: { events: readonly LoggedEvent[] }): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: events.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    getItemKey: (index) => events[events.length - 1 - index]!.key,
  });
  return (
    <div ref={box} className="event-log panel" tabIndex={0} role="log" aria-live="off" aria-label="Events">
      <div role="presentation" className="table-sizer" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => (
          <EventRow
            key={key}
            logged={events[events.length - 1 - index]!}
            index={index}
            start={start}
            measure={virtual.measureElement}
          />
        ))}
      </div>
    </div>
  );
}

function EventRow(props: {
  logged: LoggedEvent;
  index: number;
  start: number;
  measure: (element: Element | null) => void;
}): ReactElement {
  const { logged, index, start, measure } = props;
  const { type, at, sessionKey, turnId, text } = logged;
  return (
    <div
      ref={measure}
      data-index={index}
      className="event-row"
      style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}
    >
      <span className="soft">
        <Time at={at} />
      </span>
      <strong data-tone={BAD.test(type) || text.includes('"failed"') ? 'bad' : undefined}>{type}</strong>
      <span>{sessionKey !== null && <SessionLink sessionKey={sessionKey} />}</span>
      <span>{turnId !== null && <TurnLink id={turnId} />}</span>
      <span className="mono event-data" title={text}>
        {type === 'reset' ? RESET : <SafeText text={text} />}
      </span>
    </div>
  );
}

/** Types that say that something went wrong. */
const BAD = /\.(?:failed|lost|unknown|reached)$/;

const RESET = 'Events after the last id were deleted. What follows is what is left of them.';

/**
 * The command that follows the same events in a terminal; the key comes from a variable, so that it
 * is in no history.
 */
function curlOf(choice: { types: string[]; session: string | undefined; after: string | null | undefined }): string {
  const { types, session, after } = choice;
  const query = new URLSearchParams({
    ...(types.length === 0 ? {} : { types: types.join(',') }),
    ...(session === undefined ? {} : { session }),
    ...(after == null ? {} : { after }),
  }).toString();
  const url = `${location.origin}/v1/events${query === '' ? '' : `?${query}`}`;
  return `curl -N -H "Authorization: Bearer $HOLDFAST_API_KEY" ${quoted(url)}`;
}
