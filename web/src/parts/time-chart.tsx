// What happened in equal steps of time, as bars; and the same as a table.
import { useId, useState, type ReactElement } from 'react';
import {
  axisTexts,
  barPaths,
  CHART_HEIGHT,
  CHART_WIDTH,
  highestStack,
  stepTexts,
  type StepValues,
} from '../format/chart.ts';
import { useSettings } from '../settings.tsx';

export interface ChartSeries {
  name: string;
  values: StepValues;
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
  const { zone } = useSettings();
  const id = useId();
  const tops = panes.map(({ series }) => highestStack(series.map(({ values }) => values)));
  const most = Math.max(...tops);
  return (
    <figure className="panel" aria-labelledby={id}>
      <figcaption className="row">
        <strong id={id}>{title}</strong>
        <span className="soft">{span}</span>
        <button
          type="button"
          className="button"
          aria-pressed={isTable}
          aria-label={`${title} as a table`}
          onClick={() => setTable(!isTable)}
        >
          Table
        </button>
      </figcaption>
      {isTable ? (
        <StepTable {...chart} />
      ) : (
        <>
          {panes.map((pane, n) => (
            <Bars
              key={pane.series[0]?.name}
              {...pane}
              most={chart.hasOneScale === true ? most : (tops[n] ?? 0)}
              {...{ span, times }}
            />
          ))}
          <p className="chart-axis soft" aria-hidden="true">
            {axisTexts(times, zone).map((text, n) => (
              <span key={n}>{text}</span>
            ))}
          </p>
        </>
      )}
    </figure>
  );
}

function Bars({
  series,
  text,
  most,
  span,
  times,
}: ChartPane & Pick<Chart, 'span' | 'times'> & { most: number }): ReactElement {
  const { zone } = useSettings();
  const names = stepTexts(times, zone);
  const paths = barPaths(
    series.map(({ values }) => values),
    most,
  );
  const label = series.map(({ name, values }) => `${name}: at most ${text(highestStack([values]))}`).join(', ');
  const width = CHART_WIDTH / Math.max(1, times.length);
  return (
    <div>
      <p className="chart-names row">
        {series.map(({ name, tone }) => (
          <span key={name}>
            <svg className="chart-key" viewBox="0 0 10 10" aria-hidden="true">
              <path data-tone={tone} d="M0 0h10v10h-10z" />
            </svg>{' '}
            {name}
          </span>
        ))}
        <span className="chart-top soft">{most === 0 ? 'none' : `up to ${text(most)}`}</span>
      </p>
      <svg
        className="chart"
        viewBox={`0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${span}. ${label}`}
      >
        {series.map(({ name, tone }, n) => (
          <path key={name} data-tone={tone} d={paths[n]} />
        ))}
        {times.map((time, step) => (
          <rect key={time} x={step * width} width={width} height={CHART_HEIGHT}>
            <title>
              {`${names[step]}\n${series.map(({ name, values }) => `${name}: ${textAt(values, step, text)}`).join('\n')}`}
            </title>
          </rect>
        ))}
      </svg>
    </div>
  );
}

/** The panes of a chart as a table, with a row for each step. */
export function StepTable({ title, times, panes }: Pick<Chart, 'title' | 'times' | 'panes'>): ReactElement {
  const { zone } = useSettings();
  const names = stepTexts(times, zone);
  const columns = panes.flatMap(({ series, text }) => series.map(({ name, values }) => ({ name, values, text })));
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
