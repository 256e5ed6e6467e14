// How bars of equal steps of time are drawn and named.
import { timeText } from './time.ts';

/** What bars are drawn into, in units of the view box; a unit of the height is a pixel. */
export const CHART_WIDTH = 600;
export const CHART_HEIGHT = 90;

/** The part of a step's width that stays empty beside its bar. */
const EMPTY_PART = 0.2;
/** A non-zero value is never drawn lower: it stays visible beside one that is a thousand times as large. */
const SEEN_HEIGHT = 2;
/** Between the bars of a stack. */
const GAP = 1;
const DAY_MS = 86_400_000;

/** The values of a series, one for each step; null: there is none. */
export type StepValues = readonly (number | null)[];

/** What all series have together in the step in which they have most; values below 0 count as 0. */
export function highestStack(series: readonly StepValues[]): number {
  const steps = Math.max(0, ...series.map((values) => values.length));
  return Math.max(
    0,
    ...Array.from({ length: steps }, (_, step) => series.reduce((sum, values) => sum + at(values, step), 0)),
  );
}

/** The bars of each series, the first at the bottom, as the `d` of a path; the highest possible stack has the value `most`. */
export function barPaths(series: readonly StepValues[], most: number, chartHeight = CHART_HEIGHT): string[] {
  const steps = Math.max(1, ...series.map((values) => values.length));
  const width = CHART_WIDTH / steps;
  const bottoms = Array.from({ length: steps }, () => chartHeight);
  // The extra height of the smallest values, and the gaps, stay free at the top.
  const whole = chartHeight - series.length * (SEEN_HEIGHT + GAP);
  return series.map((values) => {
    let path = '';
    for (const [step, bottom] of bottoms.entries()) {
      const value = at(values, step);
      if (value === 0 || most === 0) continue;
      const height = Math.max(SEEN_HEIGHT, (value / most) * whole);
      path += `M${round((step + EMPTY_PART / 2) * width)} ${round(bottom)}v${round(-height)}h${round(width * (1 - EMPTY_PART))}v${round(height)}z`;
      bottoms[step] = bottom - height - GAP;
    }
    return path;
  });
}

function at(values: StepValues, step: number): number {
  return Math.max(0, values[step] ?? 0);
}

function round(length: number): number {
  return Math.round(length * 100) / 100;
}

/** When each step began, by date and time of day; two steps that the clocks have the same time for, as when they are put back, have their offsets. */
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

/** The names of the first step, the one in the middle and the last: the time of day, with the date when they span more than a day. */
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
