// How bars of equal steps of time are drawn and named.
import { max, nice, range, sum, ticks, transpose } from 'd3-array';
import { line, stack } from 'd3-shape';
import { timeText } from './time.ts';

/** What bars are drawn into, in units of the view box; a unit of the height is a pixel. */
export const CHART_WIDTH = 600;
export const CHART_HEIGHT = 90;

/** The part of a step's width that stays empty beside its bar. */
const EMPTY_PART = 0.2;
/**
 * A non-zero value is never drawn lower: it stays visible beside one that is a thousand times as
 * large.
 */
const SEEN_HEIGHT = 2;
/** About so many marks has the axis of values. */
const MARKS = 3;
const DAY_MS = 86_400_000;

/** The values of a series, one for each step; null: there is none. */
export type StepValues = readonly (number | null)[];

/**
 * The bars of each series, stacked with the first at the bottom, as the `d` of a path; `top` is the
 * value at the top of the chart.
 */
export function barPaths(series: readonly StepValues[], top: number, chartHeight = CHART_HEIGHT): string[] {
  const steps = range(Math.max(1, ...series.map((values) => values.length)));
  const width = CHART_WIDTH / steps.length;
  const y = (value: number): number => round(chartHeight - (value / top) * (chartHeight - SEEN_HEIGHT));
  const layers = stack<unknown, number, number>()
    .keys(series.keys())
    .value((_, key, step) => Math.max(0, series[key]?.[step] ?? 0))(steps);
  const barOf = ([from = 0, to = 0]: readonly number[], step: number): string =>
    to > from
      ? `M${round((step + EMPTY_PART / 2) * width)} ${y(from)}V${Math.min(y(to), y(from) - SEEN_HEIGHT)}h${round((1 - EMPTY_PART) * width)}V${y(from)}z`
      : '';
  return layers.map((layer) => layer.map(barOf).join(''));
}

/** A line through the middle of each step that has a value. */
export function linePath(values: StepValues, top: number): string {
  const draw = line<number | null>()
    .defined((value) => value !== null)
    .x((_, step) => round(((step + 0.5) * CHART_WIDTH) / values.length))
    .y((value) => round(CHART_HEIGHT - ((value ?? 0) / top) * (CHART_HEIGHT - SEEN_HEIGHT)));
  return top === 0 ? '' : (draw(values) ?? '');
}

/** What all series have together in the step in which they have most; values below 0 count as 0. */
export function highestStack(series: readonly StepValues[]): number {
  return (
    max(transpose(series.map((values) => values.map((value) => Math.max(0, value ?? 0)))), (step) => sum(step)) ?? 0
  );
}

/** The marks of the axis of values, from 0 to a round number that is not below `most`. */
export function valueMarks(most: number): number[] {
  return most === 0 ? [0] : ticks(...nice(0, most, MARKS), MARKS);
}

function round(length: number): number {
  return Math.round(length * 100) / 100;
}

/**
 * When each step began, by date and time of day; two steps that the clocks have the same time for,
 * as when they are put back, have their offsets.
 */
export function stepTexts(times: readonly string[], zone: string): string[] {
  const texts = times.map((time) => timeText(time, zone));
  return times.map((time, step) => {
    const text = texts[step] ?? '';
    return texts.indexOf(text) === texts.lastIndexOf(text) ? text : `${text} ${offsetText(time, zone)}`;
  });
}

function offsetText(time: string, zone: string): string {
  const parts = new Intl.DateTimeFormat('en', { timeZoneName: 'shortOffset', ...zoneOf(zone) }).formatToParts(
    new Date(time),
  );
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

/**
 * The names of the first step, the one in the middle and the last: the time of day, with the date
 * when they span more than a day.
 */
export function axisTexts(times: readonly string[], zone: string): string[] {
  const last = times.length - 1;
  const steps = new Set([0, Math.floor(last / 2), last]);
  const shown = [...steps].flatMap((step) => times[step] ?? []).map((time) => new Date(time));
  const isLong = Number(shown.at(-1)) - Number(shown[0]) >= DAY_MS;
  const format = new Intl.DateTimeFormat(undefined, {
    ...(isLong ? { day: 'numeric', month: 'short' } : {}),
    hour: '2-digit',
    minute: '2-digit',
    ...zoneOf(zone),
  });
  return shown.map((time) => (Number.isNaN(time.getTime()) ? 'unknown' : format.format(time)));
}

function zoneOf(zone: string): { timeZone?: string } {
  return zone === 'local' ? {} : { timeZone: zone };
}
