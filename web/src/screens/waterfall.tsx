// Where the time of a turn went: a row for each span on one axis, with long idle gaps folded; and the same as a table.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef, useState, type ReactElement } from 'react';
import type { Span, Turn } from '../api.ts';
import { foldedAxis } from '../format/folded-axis.ts';
import { durationText, lengthMs, serverNowMs } from '../format/time.ts';
import { Empty, Time } from '../parts/bits.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useFirst } from '../parts/show-more.tsx';

const ROW_PX = 26;
const WIDTH = 1000;

const nameOf = ({ kind, name, n }: Span): string => {
  if (kind === 'tool.exec') return `tool ${name}`;
  return n === null ? kind : `${kind} ${n}`;
};

export function Waterfall({ turn }: { turn: Turn }): ReactElement {
  const [isTable, setTable] = useState(false);
  const { spans } = turn;
  if (spans.length === 0) return <Empty>The turn has not begun anything yet.</Empty>;
  return (
    <section className="panel" aria-label="Timeline">
      <div className="row">
        <span className="soft">
          {spans.length} spans, {durationText(lengthMs(turn.queuedAt, turn.endedAt))} in all
        </span>
        <button type="button" className="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          {isTable ? 'Timeline' : 'Table'}
        </button>
      </div>
      {isTable ? <SpanTable spans={spans} /> : <SpanRows spans={spans} />}
    </section>
  );
}

function SpanRows({ spans }: { spans: readonly Span[] }): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  const nowMs = serverNowMs();
  const times = spans.map(({ startedAt, endedAt }) => {
    const startMs = Date.parse(startedAt);
    return { startMs, endMs: Math.max(startMs, endedAt === null ? nowMs : Date.parse(endedAt)) };
  });
  const axis = foldedAxis(times);
  const virtual = useVirtualizer({
    count: spans.length,
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
        {virtual.getVirtualItems().map(({ index, start }) => {
          const span = spans[index]!;
          const { startMs, endMs } = times[index]!;
          const x = axis.at(startMs) * WIDTH;
          return (
            <div
              key={index}
              role="listitem"
              className="waterfall-row"
              data-kind={span.kind}
              style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}
            >
              <span>
                <SafeText text={nameOf(span)} />
              </span>
              <svg viewBox={`0 0 ${WIDTH} 16`} preserveAspectRatio="none" aria-hidden="true">
                {axis.folds.map((fold) => (
                  <rect key={fold} className="fold" x={fold * WIDTH - 1} y="0" width="2" height="16" />
                ))}
                <rect x={x} y="3" width={Math.max(2, axis.at(endMs) * WIDTH - x)} height="10" rx="2" />
              </svg>
              <span className="number">
                {durationText(endMs - startMs)}
                {span.endedAt === null && '…'}
              </span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function SpanTable({ spans }: { spans: readonly Span[] }): ReactElement {
  const { first, more } = useFirst(spans);
  return (
    <>
      <div className="scroll-x">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Span</th>
              <th scope="col">Began</th>
              <th scope="col">Took</th>
            </tr>
          </thead>
          <tbody>
            {first.map((span, at) => (
              <tr key={at}>
                <td>
                  <SafeText text={nameOf(span)} />
                </td>
                <td>
                  <Time at={span.startedAt} />
                </td>
                <td>{durationText(lengthMs(span.startedAt, span.endedAt))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more}
    </>
  );
}
