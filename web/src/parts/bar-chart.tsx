// Bars of equal steps of time; and the same as a table.
import { useState, type ReactElement } from 'react';
import { Time } from './bits.tsx';

const WIDTH = 600;
const HEIGHT = 90;

/** Bars of steps of time, and the same as a table. */
export function BarChart(props: {
  title: string;
  /** The time that the bars cover: `last hour`. */
  span: string;
  /** When each step began, oldest first. */
  times: readonly string[];
  values: readonly number[];
  text: (value: number) => string;
  tone?: string;
}): ReactElement {
  const { title, span, times, values, text, tone } = props;
  const [isTable, setTable] = useState(false);
  const most = Math.max(0, ...values);
  return (
    <figure className="panel">
      <figcaption className="row">
        <strong>{title}</strong>
        <span className="soft">
          {span}, at most {text(most)}
        </span>
        <button type="button" className="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          {isTable ? 'Chart' : 'Table'}
        </button>
      </figcaption>
      {isTable ? (
        <div className="scroll-x">
          <table className="plain">
            <tbody>
              {times.map((time, at) => (
                <tr key={time}>
                  <td>
                    <Time at={time} />
                  </td>
                  <td className="number">{text(values[at] ?? 0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <svg
          className="chart"
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}, ${span}`}
        >
          {values.map((value, at) => {
            const height = most === 0 ? 0 : (value / most) * (HEIGHT - 4);
            const width = WIDTH / values.length;
            return (
              <rect
                key={times[at]}
                data-tone={tone}
                x={at * width + 1}
                y={HEIGHT - height}
                width={width - 2}
                height={height}
              >
                <title>{text(value)}</title>
              </rect>
            );
          })}
        </svg>
      )}
    </figure>
  );
}
