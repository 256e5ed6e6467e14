// Where the time of a turn went: a row for each span on one axis, with long idle gaps folded; below
// each subagent the spans of its turns; a range of it; and the same as a table.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState, type ReactElement } from 'react';
import { api, type Turn } from '../api.ts';
import { countText, dollarsText, namedCountText } from '../format/amounts.ts';
import { foldedAxis, within, type FoldedAxis, type Stretch } from '../format/folded-axis.ts';
import { isIdle, lossesOf, spanName } from '../format/spans.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { mayHaveSubagents, timelineRowsOf, type TimelineRow } from '../format/turn-tree.ts';
import { Empty, Time } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { PlainTable } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useFirst } from '../parts/show-more.tsx';
import { useNow } from '../settings.tsx';
import { TimelineRange, useRange } from './timeline-range.tsx';
import { TurnOutline } from './turn-outline.tsx';

const ROW_PX = 26;
/** A shorter wait is drawn as it is. */
const FOLDED_MS_MIN = 1_000;
const WIDTH = 1000;
const INDENT_PX = 16;
/** With more turns of subagents, their spans are shown when a person opens them. */
const OPEN_MAX = 5;

/** A row with its time; a span that has not ended lasts until now. */
interface TimedRow extends TimelineRow {
  time: Stretch;
}

export function Waterfall({ turn }: { turn: Turn }): ReactElement {
  if (turn.spans.length === 0) return <Empty>The turn has not begun anything yet.</Empty>;
  return <Timeline turn={turn} />;
}

function Timeline({ turn }: { turn: Turn }): ReactElement {
  const [isTable, setTable] = useState(false);
  const { rows, subagents, toggle } = useRows(turn);
  const { timed, whole, axis } = useTimes(rows);
  const { range, setRange } = useRange(whole);
  const shown = useMemo(
    () => (range === null ? timed : timed.filter(({ time }) => within(time, range) !== null)),
    [timed, range?.startMs, range?.endMs],
  );
  const folds = axis.folds.map((fold) => durationText(fold.lengthMs));
  return (
    <section className="panel" aria-label="Timeline">
      <div className="row">
        <span className="soft" role="status">
          {range !== null && `${countText(shown.length)} of `}
          {countText(timed.length)} spans
          {subagents > 0 && `, ${namedCountText(subagents, 'turn')} of subagents`},{' '}
          {durationText(lengthMs(turn.queuedAt, turn.endedAt))} in all
          {folds.length > 0 && `; idle time folded: ${folds.join(', ')}`}
        </span>
        <Button aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          {isTable ? 'Timeline' : 'Table'}
        </Button>
      </div>
      {lossesOf(turn.attempts ?? []).map((loss) => (
        <p key={loss}>
          <SafeText text={loss} />
        </p>
      ))}
      <TimelineRange times={timed.map(({ time }) => time)} {...{ axis, whole, range }} onChange={setRange} />
      <TurnOutline turn={turn} beginsMs={whole.startMs} />
      {shown.length === 0 && <Empty>Nothing happened in this range.</Empty>}
      {isTable ? (
        <SpanTable rows={shown} />
      ) : (
        <SpanRows
          timed={shown}
          axis={range === null ? axis : axisWithin(shown, range)}
          range={range ?? whole}
          toggle={toggle}
        />
      )}
    </section>
  );
}

/** The rows of the turn and its subagents. Those of a family of many are closed at first. */
function useRows(turn: Turn): { rows: TimelineRow[]; subagents: number; toggle: (key: string) => void } {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const { data } = useQuery({
    queryKey: ['turn', turn.id, 'tree', turn.endedAt],
    queryFn: () => api.getTurnTree({ id: turn.id }),
    enabled: mayHaveSubagents(turn),
    placeholderData: keepPreviousData,
  });
  const below = useMemo(() => (data?.items ?? []).filter(({ run }) => run !== null), [data]);
  const rows = useMemo(() => {
    const keys = below.flatMap(({ turn: own, run }) => own?.id ?? run?.runId ?? []);
    const isClosed = (key: string): boolean => below.length > OPEN_MAX !== toggled.has(key);
    return timelineRowsOf(turn, below, new Set(keys.filter(isClosed)));
  }, [turn, below, toggled]);
  const toggle = (key: string): void =>
    setToggled((before) =>
      before.has(key) ? new Set([...before].filter((one) => one !== key)) : new Set([...before, key]),
    );
  return { rows, subagents: below.length, toggle };
}

/** The rows with their times, and the axis of all of them. */
function useTimes(rows: readonly TimelineRow[]): { timed: readonly TimedRow[]; whole: Stretch; axis: FoldedAxis } {
  const now = useNow();
  // Only spans that have not ended depend on the clock.
  const nowMs = rows.some(({ span }) => span.endedAt === null) ? now : 0;
  return useMemo(() => {
    const timed = rows.map((row) => {
      const { span } = row;
      const startMs = Date.parse(span.startedAt);
      const endMs = span.endedAt === null ? nowMs : Date.parse(span.endedAt);
      return { ...row, time: { startMs, endMs: Math.max(startMs, endMs) } };
    });
    const times = timed.map(({ time }) => time);
    const whole = times.reduce((all, { startMs, endMs }) => ({
      startMs: Math.min(all.startMs, startMs),
      endMs: Math.max(all.endMs, endMs),
    }));
    return { timed, whole, axis: foldedAxis(timed.flatMap(endsOfIdle)) };
  }, [rows, nowMs]);
}

/**
 * Of a stretch in which the turn only waits, its two ends: the time between them is folded if it is
 * long.
 */
function endsOfIdle({ span, time: { startMs, endMs } }: TimedRow): Stretch[] {
  if (!isIdle(span) || endMs - startMs < FOLDED_MS_MIN) return [{ startMs, endMs }];
  return [
    { startMs, endMs: startMs },
    { startMs: endMs, endMs },
  ];
}

/** The axis of a range: from its beginning to its end, with the idle time in it folded. */
function axisWithin(timed: readonly TimedRow[], range: Stretch): FoldedAxis {
  const { startMs, endMs } = range;
  return foldedAxis([
    { startMs, endMs: startMs },
    ...timed.flatMap(endsOfIdle).flatMap((time) => within(time, range) ?? []),
    { startMs: endMs, endMs },
  ]);
}

interface SpanRowsProps {
  timed: readonly TimedRow[];
  axis: FoldedAxis;
  range: Stretch;
  /** Opens or closes a subagent. */
  toggle: (key: string) => void;
}

function SpanRows({ timed, axis, range, toggle }: SpanRowsProps): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: timed.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  return (
    <div
      ref={box}
      className="waterfall-box"
      style={{ maxHeight: '60dvh', overflow: 'auto' }}
      tabIndex={0}
      role="list"
      aria-label="Spans"
    >
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }} role="presentation">
        {virtual.getVirtualItems().map(({ index, start }) => (
          <SpanRow
            key={index}
            {...timed[index]!}
            {...{ axis, range, index, toggle }}
            top={start}
            measure={virtual.measureElement}
          />
        ))}
      </div>
    </div>
  );
}

interface SpanRowProps extends TimedRow {
  axis: FoldedAxis;
  range: Stretch;
  index: number;
  /** How far down it is, in pixels. */
  top: number;
  /** On a phone a row has two lines. */
  measure: (element: Element | null) => void;
  toggle: (key: string) => void;
}

function SpanRow({ axis, range, index, top, measure, toggle, ...row }: SpanRowProps): ReactElement {
  const { span, time, depth, costMicros } = row;
  const seen = within(time, range) ?? range;
  const x = axis.at(seen.startMs) * WIDTH;
  return (
    <div
      ref={measure}
      data-index={index}
      role="listitem"
      className="waterfall-row"
      data-kind={span.kind}
      data-status={span.status}
      style={{ position: 'absolute', insetInline: 0, transform: `translateY(${top}px)` }}
    >
      <span style={{ paddingInlineStart: `${depth * INDENT_PX}px` }}>
        <RowName row={row} toggle={toggle} />
      </span>
      <svg viewBox={`0 0 ${WIDTH} 16`} preserveAspectRatio="none" aria-hidden="true">
        {axis.folds.map(({ place }) => (
          <rect key={place} className="fold" x={place * WIDTH - 1} y="0" width="2" height="16" />
        ))}
        <rect x={x} y="3" width={Math.max(2, axis.at(seen.endMs) * WIDTH - x)} height="10" rx="2" />
      </svg>
      <span className="number">
        {durationText(time.endMs - time.startMs)}
        {span.endedAt === null && '…'}
        {costMicros !== null && costMicros > 0 && <span className="soft"> {dollarsText(costMicros)}</span>}
      </span>
    </div>
  );
}

function RowName({
  row: { span, subagent },
  toggle,
}: {
  row: TimelineRow;
  toggle: (key: string) => void;
}): ReactElement {
  if (subagent === null) return <SafeText text={spanName(span)} />;
  const { key, id, isOpen } = subagent;
  const name = <SafeText text={spanName(span)} />;
  return (
    <>
      {id !== null && (
        <Button aria-expanded={isOpen} aria-label={`Spans of ${span.name}`} onClick={() => toggle(key)}>
          {isOpen ? '▾' : '▸'}
        </Button>
      )}
      {id === null ? (
        name
      ) : (
        <Link to="/turns/$id" params={{ id }}>
          {name}
        </Link>
      )}
    </>
  );
}

function SpanTable({ rows }: { rows: readonly TimelineRow[] }): ReactElement {
  const { first, more } = useFirst(rows);
  return (
    <>
      <div className="scroll-x">
        <PlainTable
          columns={[
            { title: 'Span', cell: ({ span, depth }) => <SafeText text={`${'↳ '.repeat(depth)}${spanName(span)}`} /> },
            { title: 'Began', cell: ({ span }) => <Time at={span.startedAt} /> },
            { title: 'Took', cell: ({ span }) => durationText(lengthMs(span.startedAt, span.endedAt)) },
          ]}
          rows={first}
          idOf={(_row, at) => at}
        />
      </div>
      {more}
    </>
  );
}
