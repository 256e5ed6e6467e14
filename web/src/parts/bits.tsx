// Small parts that every screen uses.
import type { ComponentProps, ReactElement, ReactNode } from 'react';
import { useNow, useSettings } from '../settings.tsx';
import { columnDollarsText, dollarsText } from '../format/amounts.ts';
import { ageText, timeText } from '../format/time.ts';
import { Button } from './button.tsx';

/** What a state means. */
export const TONES: Readonly<Record<string, string>> = {
  running: 'live',
  claimed: 'live',
  sending: 'live',
  waiting: 'warn',
  parked: 'warn',
  pending: 'warn',
  paused: 'warn',
  uploading: 'live',
  cancelling: 'warn',
  partly: 'warn',
  resuming: 'warn',
  interrupted: 'warn',
  completed: 'good',
  answered: 'good',
  approved: 'good',
  denied: 'bad',
  silent: 'good',
  sent: 'good',
  ok: 'good',
  done: 'good',
  acknowledged: 'good',
  fired: 'live',
  alert: 'bad',
  missed: 'bad',
  skipped: 'warn',
  duplicate: 'warn',
  failed: 'bad',
  timedOut: 'bad',
  aborted: 'bad',
  killed: 'bad',
  expired: 'bad',
  unknown: 'bad',
  lost: 'bad',
  connected: 'good',
  full: 'warn',
  open: 'good',
  limited: 'warn',
  away: 'bad',
  blocked: 'bad',
  draining: 'warn',
};

interface ChipProps extends ComponentProps<'span'> {
  tone?: string | undefined;
}

export function Chip({ tone, ...span }: ChipProps): ReactElement {
  return <span className="chip" data-tone={tone} {...span} />;
}

/** A state: its word, and a colour that repeats it. */
export function Status({ status }: { status: string }): ReactElement {
  return (
    <Chip tone={TONES[status]} data-dot>
      {status}
    </Chip>
  );
}

/** A time as an age, with the exact time as its title. */
export function Age({ at }: { at: string | null }): ReactElement {
  const nowMs = useNow();
  const { zone } = useSettings();
  if (at === null) return <span className="soft">never</span>;
  return (
    <time dateTime={at} title={timeText(at, zone)}>
      {ageText(at, nowMs)}
    </time>
  );
}

/** A time as date and time of day. */
export function Time({ at }: { at: string }): ReactElement {
  const { zone } = useSettings();
  return <time dateTime={at}>{timeText(at, zone)}</time>;
}

/**
 * What something cost, and whether that money was spent: the answers of the scripted model are
 * priced, and free.
 */
export function Cost({ of, isInColumn = false }: { of: CostOf; isInColumn?: boolean }): ReactElement {
  const { costMicros, simulated } = of;
  return (
    <>
      {isInColumn ? columnDollarsText(costMicros) : dollarsText(costMicros)}
      {simulated && costMicros !== 0 && (
        <small className="soft" title="The scripted model answered: this money was not spent">
          {' '}
          simulated
        </small>
      )}
    </>
  );
}

interface CostOf {
  costMicros: number | null;
  simulated: boolean;
}

/** A screen that has nothing to show yet: says what would be here, and how to make it so. */
export function Empty({ children, command }: { children: ReactNode; command?: string }): ReactElement {
  return (
    <div className="empty">
      <p>{children}</p>
      {command !== undefined && <code>{command}</code>}
    </div>
  );
}

/** A list whose filters fit nothing. */
export function NoMatch({ noun, onClear }: { noun: string; onClear: () => void }): ReactElement {
  return (
    <div className="empty">
      <p>No {noun} fits the filters.</p>
      <Button onClick={onClear}>Clear the filters</Button>
    </div>
  );
}

/** A name and its value. */
export function Fact({ name, children }: { name: string; children: ReactNode }): ReactElement {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Names and their values; one without a value is left out. */
export function Facts({ facts, className = '' }: { facts: Readonly<Record<string, ReactNode>>; className?: string }) {
  return (
    <dl className={`facts ${className}`.trim()}>
      {Object.entries(facts).map(
        ([name, value]) =>
          value !== undefined &&
          value !== null &&
          value !== false && (
            <Fact key={name} name={name}>
              {value}
            </Fact>
          ),
      )}
    </dl>
  );
}

/** A figure of the overview; `minutes` shows how it has changed. */
export function Figure({
  name,
  note,
  minutes,
  children,
}: {
  name: string;
  note?: ReactNode;
  minutes?: ReactNode;
  children: ReactNode;
}): ReactElement {
  return (
    <div className="figure">
      <dt>{name}</dt>
      <dd>
        {children}
        {note !== undefined && <small>{note}</small>}
        {minutes}
      </dd>
    </div>
  );
}

/** The titles of a table; `number`: that of its column of numbers. */
export function Heads({ of, number }: { of: readonly string[]; number?: string }): ReactElement {
  return (
    <thead>
      <tr>
        {of.map((title) => (
          <th key={title} scope="col" className={title === number ? 'number' : undefined}>
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}
