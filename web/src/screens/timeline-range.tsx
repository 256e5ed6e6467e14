// The range of a timeline: a strip of the whole turn, on which a range is drawn with the pointer,
// and two sliders for the keyboard. The range is in the URL, in milliseconds after the beginning of
// the turn, so Back leads to the range before.
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useId, useState, type PointerEvent, type ReactElement } from 'react';
import type { FoldedAxis, Stretch } from '../format/folded-axis.ts';
import { durationText } from '../format/time.ts';
import { Button } from '../parts/button.tsx';

const route = getRouteApi('/app/turns/$id');

const WIDTH = 1000;
const HEIGHT = 28;
/** A shorter drag is a click. */
const DRAG_MIN = 0.005;

/** The range in the URL; null: all of the turn. */
export function useRange(whole: Stretch): {
  range: Stretch | null;
  /** Slow changes can be undone with Back; quick ones, as of a slider, replace each other. */
  setRange: (range: Stretch | null, isQuick?: boolean) => void;
} {
  const { from, to } = route.useSearch();
  const navigate = useNavigate({ from: '/turns/$id' });
  const [fromMs, toMs] = [Number(from), Number(to)];
  const range = toMs > fromMs ? { startMs: whole.startMs + fromMs, endMs: whole.startMs + toMs } : null;
  return {
    range,
    setRange: (next, isQuick = false) =>
      void navigate({
        search: ({ from: _from, to: _to, ...before }) =>
          next === null
            ? before
            : { ...before, from: textOf(next.startMs - whole.startMs), to: textOf(next.endMs - whole.startMs) },
        replace: isQuick && range !== null,
        resetScroll: false,
      }),
  };
}

/** To the microsecond: a step of a slider is less than a millisecond of a short turn. */
export function textOf(ms: number): string {
  return String(Math.round(ms * 1000) / 1000);
}

export function TimelineRange(props: {
  axis: FoldedAxis;
  times: readonly Stretch[];
  whole: Stretch;
  range: Stretch | null;
  onChange: (range: Stretch | null, isQuick?: boolean) => void;
}): ReactElement {
  const { axis, times, whole, range, onChange } = props;
  /** What is being drawn: where it began, and where the pointer is. */
  const [drawn, setDrawn] = useState<{ from: number; to: number } | null>(null);
  const selected =
    drawn === null
      ? [axis.at((range ?? whole).startMs), axis.at((range ?? whole).endMs)]
      : [Math.min(drawn.from, drawn.to), Math.max(drawn.from, drawn.to)];
  const [left, right] = selected as [number, number];

  function onUp(): void {
    if (drawn === null) return;
    setDrawn(null);
    if (right - left >= DRAG_MIN) onChange({ startMs: axis.timeAt(left), endMs: axis.timeAt(right) });
  }

  return (
    <div className="timeline-range">
      <div className="timeline-strip">
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            const place = placeOf(event);
            setDrawn({ from: place, to: place });
          }}
          onPointerMove={(event) => {
            if (drawn !== null) setDrawn({ ...drawn, to: placeOf(event) });
          }}
          onPointerUp={onUp}
          onPointerCancel={() => setDrawn(null)}
        >
          <path d={times.map((time) => barOf(time, axis)).join('')} />
          <rect x={left * WIDTH} width={Math.max(1, (right - left) * WIDTH)} height={HEIGHT} />
        </svg>
        {axis.folds.map(({ place, lengthMs }) => (
          <span
            key={place}
            aria-hidden="true"
            className="fold-name"
            style={{ left: `clamp(36px, ${place * 100}%, calc(100% - 36px))` }}
          >
            {`// ${durationText(lengthMs)} //`}
          </span>
        ))}
      </div>
      <RangeSliders {...{ axis, whole, range, onChange }} />
    </div>
  );
}

function placeOf({ currentTarget, clientX }: PointerEvent<SVGSVGElement>): number {
  const { left, width } = currentTarget.getBoundingClientRect();
  return Math.min(1, Math.max(0, (clientX - left) / width));
}

function barOf({ startMs, endMs }: Stretch, axis: FoldedAxis): string {
  const x = Math.round(axis.at(startMs) * WIDTH);
  return `M${x} 8v12h${Math.max(1, Math.round(axis.at(endMs) * WIDTH) - x)}v-12z`;
}

/** Of a slider: a thousandth of the axis, so that ten keys move by a hundredth. */
const STEPS = 1000;

function RangeSliders(props: {
  axis: FoldedAxis;
  whole: Stretch;
  range: Stretch | null;
  onChange: (range: Stretch | null, isQuick?: boolean) => void;
}): ReactElement {
  const { axis, whole, range, onChange } = props;
  const id = useId();
  const { startMs, endMs } = range ?? whole;
  const ends = [
    { name: 'From', timeMs: startMs, change: (timeMs: number) => ({ startMs: timeMs, endMs }) },
    { name: 'To', timeMs: endMs, change: (timeMs: number) => ({ startMs, endMs: timeMs }) },
  ];
  return (
    <div className="row" role="group" aria-label="Range of the timeline">
      {ends.map(({ name, timeMs, change }) => (
        <span key={name} className="row">
          <label htmlFor={`${id} ${name}`}>{name}</label>
          <input
            id={`${id} ${name}`}
            type="range"
            min={0}
            max={STEPS}
            value={Math.round(axis.at(timeMs) * STEPS)}
            aria-valuetext={`${durationText(timeMs - whole.startMs)} after the beginning`}
            onChange={({ target }) => {
              const next = change(axis.timeAt(Number(target.value) / STEPS));
              if (next.endMs > next.startMs) onChange(next, true);
            }}
          />
          <span className="soft number">{durationText(timeMs - whole.startMs)}</span>
        </span>
      ))}
      <Button disabled={range === null} onClick={() => onChange(null)}>
        Show all
      </Button>
    </div>
  );
}
