// Bars of the last hour, a minute each; and the same as a table.
import { useState, type ReactElement } from 'react';
import { Time } from './bits.tsx';

const MINUTES = 60;
const MINUTE_MS = 60_000;

/** What happened in a minute. */
export interface Minute {
  startsAt: string;
  turns: number;
  failedTurns: number;
  costMicros: number | null;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
}

const WIDTH = 600;
const HEIGHT = 90;

/** Bars of the last hour, and the same as a table. */
export function MinuteChart(props: {
  title: string;
  minutes: readonly Minute[];
  value: (minute: Minute) => number;
  text: (value: number) => string;
  tone?: string;
}): ReactElement {
  const { title, minutes, value, text, tone } = props;
  const [isTable, setTable] = useState(false);
  const startMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - (MINUTES - 1) * MINUTE_MS;
  const most = Math.max(1e-9, ...minutes.map(value));
  return (
    <figure className="panel">
      <figcaption className="row">
        <strong>{title}</strong>
        <span className="soft">last hour, at most {text(minutes.length === 0 ? 0 : most)}</span>
        <button type="button" className="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          {isTable ? 'Chart' : 'Table'}
        </button>
      </figcaption>
      {isTable ? (
        <div className="scroll-x">
          <table className="plain">
            <tbody>
              {minutes.map((minute) => (
                <tr key={minute.startsAt}>
                  <td>
                    <Time at={minute.startsAt} />
                  </td>
                  <td className="number">{text(value(minute))}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {minutes.length === 0 && <p className="soft">Nothing in the last hour.</p>}
        </div>
      ) : (
        <svg
          className="chart"
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}, last hour`}
        >
          {minutes.map((minute) => {
            const height = (value(minute) / most) * (HEIGHT - 4);
            const at = (Date.parse(minute.startsAt) - startMs) / MINUTE_MS;
            return (
              <rect
                key={minute.startsAt}
                data-tone={tone}
                x={at * (WIDTH / MINUTES) + 1}
                y={HEIGHT - height}
                width={WIDTH / MINUTES - 2}
                height={height}
              >
                <title>{text(value(minute))}</title>
              </rect>
            );
          })}
        </svg>
      )}
    </figure>
  );
}
