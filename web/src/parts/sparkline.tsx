// How a figure has changed, as small bars beside it. What they show is also said in words, and the screen has the same values as a table.
import type { ReactElement } from 'react';
import { barPaths, CHART_WIDTH, highestStack, type StepValues } from '../format/chart.ts';

/** In pixels. */
const HEIGHT = 28;

/** Bars of equal steps of time. `span` is the time that they cover: `last hour`. */
export function Sparkline(props: {
  name: string;
  span: string;
  values: StepValues;
  text: (value: number) => string;
  tone?: 'bad';
}): ReactElement {
  const { name, span, values, text, tone } = props;
  const known = values.filter((value) => value !== null);
  const most = highestStack([values]);
  const words = known.length === 0 ? 'nothing' : `from ${text(Math.min(...known))} to ${text(most)}`;
  return (
    <svg
      className="chart spark"
      viewBox={`0 0 ${CHART_WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${name}, ${span}: ${words}`}
    >
      <title>{`${span}: ${words}`}</title>
      <path data-tone={tone} d={barPaths([values], most, HEIGHT)[0]} />
    </svg>
  );
}
