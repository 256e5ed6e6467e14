// Where the time of a turn went: a row for each span on one axis, with long idle gaps folded; a
// range of it; and the same as a table.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState, type ReactElement } from 'react';
import type { Span, Turn } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { foldedAxis, within, type FoldedAxis, type Stretch } from '../format/folded-axis.ts';
import { isIdle, lossesOf, spanName } from '../format/spans.ts';
import { durationText, lengthMs } from '../format/time.ts';
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

/** A span with its time; a span that has not ended lasts until now. */
interface TimedSpan {
  span: Span;
  time: Stretch;
}

export function Waterfall({ turn }: { turn: Turn }): ReactElement {
  if (turn.spans.length === 0) return <Empty>The turn has not begun anything yet.</Empty>;
  return <Timeline turn={turn} />;
}

function Timeline({ turn }: { turn: Turn }): ReactElement {
  const [isTable, setTable] = useState(false);
  const { timed, whole, axis } = useTimes(turn.spans);
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
          {countText(timed.length)} spans, {durationText(lengthMs(turn.queuedAt, turn.endedAt))} in all
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
        <SpanTable spans={shown.map(({ span }) => span)} />
      ) : (
        <SpanRows timed={shown} axis={range === null ? axis : axisWithin(shown, range)} range={range ?? whole} />
      )}
    </section>
  );
}

/** The spans with their times, and the axis of all of them. */
function useTimes(spans: readonly Span[]): { timed: readonly TimedSpan[]; whole: Stretch; axis: FoldedAxis } {
  const now = useNow();
  // Only spans that have not ended depend on the clock.
  const nowMs = spans.some(({ endedAt }) => endedAt === null) ? now : 0;
  return useMemo(() => {
    const timed = spans.map((span) => {
      const startMs = Date.parse(span.startedAt);
      const endMs = span.endedAt === null ? nowMs : Date.parse(span.endedAt);
      return { span, time: { startMs, endMs: Math.max(startMs, endMs) } };
    });
    const times = timed.map(({ time }) => time);
    const whole = times.reduce((all, { startMs, endMs }) => ({
      startMs: Math.min(all.startMs, startMs),
      endMs: Math.max(all.endMs, endMs),
    }));
    return { timed, whole, axis: foldedAxis(timed.flatMap(endsOfIdle)) };
  }, [spans, nowMs]);
}

/**
 * Of a stretch in which the turn only waits, its two ends: the time between them is folded if it is
 * long.
 */
function endsOfIdle({ span, time: { startMs, endMs } }: TimedSpan): Stretch[] {
  if (!isIdle(span) || endMs - startMs < FOLDED_MS_MIN) return [{ startMs, endMs }];
  return [
    { startMs, endMs: startMs },
    { startMs: endMs, endMs },
  ];
}

/** The axis of a range: from its beginning to its end, with the idle time in it folded. */
function axisWithin(timed: readonly TimedSpan[], range: Stretch): FoldedAxis {
  const { startMs, endMs } = range;
  return foldedAxis([
    { startMs, endMs: startMs },
    ...timed.flatMap(endsOfIdle).flatMap((time) => within(time, range) ?? []),
    { startMs: endMs, endMs },
  ]);
}

function SpanRows(props: { timed: readonly TimedSpan[]; axis: FoldedAxis; range: Stretch }): ReactElement {
  const { timed, axis, range } = props;
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
            {...{ axis, range, index }}
            top={start}
            measure={virtual.measureElement}
          />
        ))}
      </div>
    </div>
  );
}

interface SpanRowProps extends TimedSpan {
  axis: FoldedAxis;
  range: Stretch;
  index: number;
  /** How far down it is, in pixels. */
  top: number;
  /** On a phone a row has two lines. */
  measure: (element: Element | null) => void;
}

function SpanRow({ span, time, axis, range, index, top, measure }: SpanRowProps): ReactElement {
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
      <span>
        <SafeText text={spanName(span)} />
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
      </span>
    </div>
  );
}

function SpanTable({ spans }: { spans: readonly Span[] }): ReactElement {
  const { first, more } = useFirst(spans);
  return (
    <>
      <div className="scroll-x">
        <PlainTable
          columns={[
            { title: 'Span', cell: (span) => <SafeText text={spanName(span)} /> },
            { title: 'Began', cell: ({ startedAt }) => <Time at={startedAt} /> },
            { title: 'Took', cell: ({ startedAt, endedAt }) => durationText(lengthMs(startedAt, endedAt)) },
          ]}
          rows={first}
          idOf={(_span, at) => at}
        />
      </div>
      {more}
    </>
  );
}
