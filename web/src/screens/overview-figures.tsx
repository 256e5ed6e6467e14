// The figures of the overview, each with its last 60 minutes, and these minutes as one table.
import { Link } from '@tanstack/react-router';
import { Table2 } from 'lucide-react';
import { useState, type ReactElement, type ReactNode } from 'react';
import type { api } from '../api.ts';
import { countText, microsOf, percentText, usdText } from '../format/amounts.ts';
import type { StepValues } from '../format/chart.ts';
import { durationText } from '../format/time.ts';
import { Age, Cost, Figure } from '../parts/bits.tsx';
import { Sparkline, StepTable } from '../parts/time-chart.tsx';

export type Figures = Awaited<ReturnType<typeof api.getOverview>>;

const share = (part: number): string => percentText(part, 1);

interface ShownFigure {
  name: string;
  now: ReactNode;
  note?: ReactNode;
  /** Its minutes, which can be something else than the figure. */
  minutes: { name: string; values: StepValues; text: (value: number) => string };
}

export function FigureList({ figures }: { figures: Figures }): ReactElement {
  const [isTable, setTable] = useState(false);
  const shown = [...workOf(figures), ...qualityOf(figures)];
  return (
    <section aria-labelledby="figures">
      <div className="row">
        <h2 id="figures">Work</h2>
        <span className="soft">the last hour by minute</span>
        <button
          type="button"
          className="icon-button end"
          aria-pressed={isTable}
          aria-label="Figures as a table"
          title="Figures as a table"
          onClick={() => setTable(!isTable)}
        >
          <Table2 size={15} />
        </button>
      </div>
      {isTable && (
        <StepTable
          title="Figures"
          times={figures.points.startsAt}
          panes={shown.map(({ minutes: { name, values, text } }) => ({ series: [{ name, values }], text }))}
        />
      )}
      <dl className="figures">
        {shown.map(({ name, now, note, minutes }) => (
          <Figure key={name} name={name} note={note} minutes={<Sparkline span="last hour" {...minutes} />}>
            {now}
          </Figure>
        ))}
      </dl>
    </section>
  );
}

/** What waits and what runs. */
function workOf({ waiting, slots, points, running, parked, turnsPerMinute, dayBefore }: Figures): ShownFigure[] {
  return [
    {
      name: 'Waiting',
      note:
        waiting.oldestAt === null ? (
          'none'
        ) : (
          <>
            oldest: <Age at={waiting.oldestAt} />, {countText(parked)} parked
          </>
        ),
      now: (
        <Link to="/waiting">
          {countText(waiting.count)}
          {waiting.isCapped && '+'}
        </Link>
      ),
      minutes: { name: 'Messages that waited', values: points.waiting, text: countText },
    },
    {
      name: 'Running',
      note: slots.total === 0 ? 'no slots' : `${share(running / slots.total)} of the slots`,
      now: (
        <>
          <Link to="/turns" search={{ status: 'running' }}>
            {countText(running)}
          </Link>
          <span className="soft"> of {slots.total}</span>
        </>
      ),
      minutes: { name: 'Turns that ran', values: points.running, text: countText },
    },
    {
      name: 'Turns per minute',
      note: wasText(dayBefore.turnsPerMinute, (rate) => rate.toFixed(1)),
      now: turnsPerMinute.toFixed(1),
      minutes: { name: 'Turns that ended', values: points.ends, text: countText },
    },
  ];
}

/** How well it went, how long it took, and what it cost. */
function qualityOf(figures: Figures): ShownFigure[] {
  const {
    successRate,
    firstChunkP95Ms,
    turnP95Ms,
    cacheHitRatio,
    spentTodayUsd,
    simulated,
    budget,
    points,
    dayBefore,
  } = figures;
  const { ends, failures, inputTokens, cacheReadTokens, cacheWriteTokens } = points;
  return [
    {
      name: 'Ended well',
      note: (
        <>
          <Link to="/turns" search={{ status: 'failed' }}>
            failed turns
          </Link>
          , {wasText(dayBefore.successRate, share)}
        </>
      ),
      now: successRate === null ? 'no turns' : share(successRate),
      minutes: {
        name: 'Ended well',
        values: ends.map((count, at) => ratio(count - (failures[at] ?? 0), count)),
        text: share,
      },
    },
    {
      name: 'First token, p95',
      note: wasText(dayBefore.firstChunkP95Ms, durationText),
      now: firstChunkP95Ms === null ? 'no turns' : durationText(firstChunkP95Ms),
      minutes: { name: 'First token, p95', values: points.firstChunkP95Ms, text: durationText },
    },
    {
      name: 'Turn, p95',
      note: wasText(dayBefore.turnP95Ms, durationText),
      now: turnP95Ms === null ? 'no turns' : durationText(turnP95Ms),
      minutes: { name: 'Turn, p95', values: points.turnP95Ms, text: durationText },
    },
    {
      name: 'Cost today',
      note:
        budget === null
          ? `hour, ${wasText(dayBefore.costUsd, usdText)}`
          : `${budget.name}: ${Math.round(budget.usedPercent)} % of ${usdText(budget.limitUsd)}`,
      now: <Cost of={{ costMicros: microsOf(spentTodayUsd), simulated }} />,
      minutes: { name: 'Cost', values: points.costUsd, text: usdText },
    },
    {
      name: 'Input from the cache',
      note: wasText(dayBefore.cacheHitRatio, share),
      now: cacheHitRatio === null ? 'no calls' : share(cacheHitRatio),
      minutes: {
        name: 'Input from the cache',
        values: cacheReadTokens.map((read, at) =>
          ratio(read, read + (inputTokens[at] ?? 0) + (cacheWriteTokens[at] ?? 0)),
        ),
        text: share,
      },
    },
  ];
}

/** The same of the hour a day ago. */
function wasText(value: number | null, text: (value: number) => string): string {
  return `day before: ${value === null ? 'none' : text(value)}`;
}

/** Null: there is nothing of which it could be a part. */
function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}
