// What happened in equal steps of time, as bars; and the same as a table.
import { useId, useState, type PointerEvent, type ReactElement } from 'react';
import { Button } from './button.tsx';
import {
  axisTexts,
  barPaths,
  CHART_HEIGHT,
  CHART_WIDTH,
  highestStack,
  linePath,
  stepTexts,
  valueMarks,
  type StepValues,
} from '../format/chart.ts';
import { useSettings } from '../settings.tsx';

/** In pixels. */
const SPARK_HEIGHT = 28;

export interface ChartSeries {
  name: string;
  values: StepValues;
  /** The same steps of the day before, drawn as a line. */
  before?: StepValues;
  /** Its colour; each of several series has its own. */
  tone?: 'second' | 'third' | 'fourth' | 'bad';
}

/** Bars over the time axis of a chart: of one series, or of several, which are stacked. */
export interface ChartPane {
  series: readonly ChartSeries[];
  text: (value: number) => string;
}

interface Chart {
  title: string;
  /** The time that the steps cover: `last hour`. */
  span: string;
  /** When each step began, oldest first. */
  times: readonly string[];
  /** From top to bottom. */
  panes: readonly ChartPane[];
  /** True when the panes are of the same unit: bars of the same height then have the same value. */
  hasOneScale?: boolean;
}

/** Panes of bars above one time axis, and the same as a table. */
export function TimeChart(chart: Chart): ReactElement {
  const { title, span, times, panes } = chart;
  const [isTable, setTable] = useState(false);
  const [step, setStep] = useState<number | null>(null);
  const { zone } = useSettings();
  const id = useId();
  const tops = panes.map(({ series }) =>
    Math.max(
      highestStack(series.map(({ values }) => values)),
      ...series.map(({ before = [] }) => highestStack([before])),
    ),
  );
  const most = Math.max(...tops);
  function point({ clientX, currentTarget }: PointerEvent<HTMLElement>): void {
    const box = currentTarget.querySelector('svg.chart')?.getBoundingClientRect();
    const at = box === undefined ? -1 : Math.floor(((clientX - box.left) / box.width) * times.length);
    setStep(at >= 0 && at < times.length ? at : null);
  }
  return (
    <figure className="panel" aria-labelledby={id}>
      <figcaption className="row">
        <strong id={id}>{title}</strong>
        <span className="soft">{step === null ? span : stepTexts(times, zone)[step]}</span>
        <Button aria-pressed={isTable} aria-label={`${title} as a table`} onClick={() => setTable(!isTable)}>
          Table
        </Button>
      </figcaption>
      {isTable ? (
        <StepTable {...chart} />
      ) : (
        <div onPointerMove={point} onPointerLeave={() => setStep(null)}>
          {panes.map((pane, n) => (
            <Bars
              key={pane.series[0]?.name}
              {...pane}
              most={chart.hasOneScale === true ? most : (tops[n] ?? 0)}
              {...{ span, times, step }}
            />
          ))}
          <p className="chart-axis soft" aria-hidden="true">
            {axisTexts(times, zone).map((text, n) => (
              <span key={n}>{text}</span>
            ))}
          </p>
        </div>
      )}
    </figure>
  );
}

/**
 * The bars of a pane between its axes. The names of its series have the values of the step that is
 * pointed at.
 */
function Bars(pane: ChartPane & Pick<Chart, 'span' | 'times'> & { most: number; step: number | null }): ReactElement {
  const { series, text, most, span, times, step } = pane;
  const marks = valueMarks(most);
  const top = marks.at(-1) ?? 0;
  const paths = barPaths(
    series.map(({ values }) => values),
    top,
  );
  const label = series.map(({ name, values }) => `${name}: at most ${text(highestStack([values]))}`).join(', ');
  const width = CHART_WIDTH / Math.max(1, times.length);
  return (
    <>
      <p className="chart-names row">
        {series.map(({ name, values, before, tone }) => (
          <span key={name}>
            <svg className="chart-key" viewBox="0 0 10 10" aria-hidden="true">
              <path data-tone={tone} d="M0 0h10v10h-10z" />
            </svg>{' '}
            {name}
            {step !== null && <strong> {textAt(values, step, text)}</strong>}
            {before !== undefined && (
              <span className="soft">, day before {step === null ? 'as a line' : textAt(before, step, text)}</span>
            )}
          </span>
        ))}
      </p>
      <div className="chart-plot">
        <p className="chart-marks soft" aria-hidden="true">
          {marks.map((mark) => (
            <span key={mark}>{text(mark)}</span>
          ))}
        </p>
        <svg
          className="chart"
          viewBox={`0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${span}. ${label}`}
        >
          {series.map(({ name, tone }, n) => <path key={name} data-tone={tone} d={paths[n]} />).toReversed()}
          {series.map(({ name, before }) => before && <path key={name} className="before" d={linePath(before, top)} />)}
          {step !== null && <rect x={step * width} width={width} height={CHART_HEIGHT} />}
        </svg>
      </div>
    </>
  );
}

/** How a figure has changed, as small bars beside it; what they show is also said in words. */
export function Sparkline(props: Pick<Chart, 'span'> & ChartSeries & Pick<ChartPane, 'text'>): ReactElement {
  const { name, span, values, text, tone } = props;
  const known = values.filter((value) => value !== null);
  const words = known.length === 0 ? 'nothing' : `from ${text(Math.min(...known))} to ${text(Math.max(...known))}`;
  return (
    <svg
      className="chart spark"
      viewBox={`0 0 ${CHART_WIDTH} ${SPARK_HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${name}, ${span}: ${words}`}
    >
      <title>{`${span}: ${words}`}</title>
      <path data-tone={tone} d={barPaths([values], highestStack([values]), SPARK_HEIGHT)[0]} />
    </svg>
  );
}

/** The panes of a chart as a table, with a row for each step. */
export function StepTable({ title, times, panes }: Pick<Chart, 'title' | 'times' | 'panes'>): ReactElement {
  const { zone } = useSettings();
  const names = stepTexts(times, zone);
  const columns = panes.flatMap(({ series, text }) =>
    series.flatMap(({ name, values, before }) => [
      { name, values, text },
      ...(before === undefined ? [] : [{ name: `${name}, day before`, values: before, text }]),
    ]),
  );
  return (
    <section className="chart-table" aria-label={`${title}, table`} tabIndex={0}>
      <table className="plain cards">
        <thead>
          <tr>
            <th scope="col">{zone === 'local' ? 'Starts' : `Starts (${zone === 'utc' ? 'UTC' : zone})`}</th>
            {columns.map(({ name }) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((time, step) => (
            <tr key={time}>
              <th scope="row">
                <time dateTime={time}>{names[step]}</time>
              </th>
              {columns.map(({ name, values, text }) => (
                <td key={name} className="number" data-label={name}>
                  {textAt(values, step, text)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function textAt(values: StepValues, step: number, text: ChartPane['text']): string {
  const value = values[step];
  return value === null ? 'none' : text(value ?? 0);
}

/** Tokens by kind, each a series with its own colour. */
export function tokenSeries(tokens: {
  inputTokens: readonly number[];
  cacheReadTokens: readonly number[];
  cacheWriteTokens: readonly number[];
  outputTokens: readonly number[];
}): ChartSeries[] {
  return [
    { name: 'Fresh input', values: tokens.inputTokens },
    { name: 'Cache read', values: tokens.cacheReadTokens, tone: 'second' },
    { name: 'Cache write', values: tokens.cacheWriteTokens, tone: 'third' },
    { name: 'Output', values: tokens.outputTokens, tone: 'fourth' },
  ];
}
