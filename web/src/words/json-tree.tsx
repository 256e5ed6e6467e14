// JSON as a tree of details, whose branches are made when they are opened. Integers keep their
// digits, however long they are.
import type { ReactElement, ReactNode } from 'react';
import { countText } from '../format/amounts.ts';
import { isWrittenNumber } from '../format/json-text.ts';
import { shortened } from '../format/long-text.ts';
import { LongText, SafeText } from '../parts/safe-text.tsx';
import { useFirst } from '../parts/show-more.tsx';
import { useKept } from './kept.ts';

/** Longer texts are opened in a part of their own. */
const LINE_CHARS = 120;

/**
 * A value: a line, or a branch that is open at first if `isOpen`. `place` names it among all that
 * is kept open.
 */
export function JsonTree({
  value,
  place,
  isOpen = true,
}: {
  value: unknown;
  place: string;
  isOpen?: boolean;
}): ReactElement {
  return <Branch name={null} value={value} place={place} isOpen={isOpen} />;
}

interface BranchProps {
  name: string | null;
  value: unknown;
  place: string;
  isOpen: boolean;
}

function Branch({ name, value, place, isOpen }: BranchProps): ReactElement {
  const label = name === null ? null : <Key name={name} />;
  if (typeof value === 'string' && (value.length > LINE_CHARS || value.includes('\n')))
    return (
      <Opened
        place={place}
        isOpen={false}
        title={
          <>
            {label}
            <SafeText text={shortened(JSON.stringify(value), LINE_CHARS)} />
          </>
        }
      >
        {() => <LongText text={value} />}
      </Opened>
    );
  if (typeof value !== 'object' || value === null || isWrittenNumber(value))
    return (
      <div className="json-leaf" data-type={typeof value}>
        {label}
        <SafeText text={JSON.stringify(value)} />
      </div>
    );
  const count = Object.keys(value).length;
  const kind = Array.isArray(value) ? `[${countText(count)}]` : `{${countText(count)}}`;
  return (
    <Opened
      place={place}
      isOpen={isOpen}
      title={
        <>
          {label}
          <span className="soft">{kind}</span>
        </>
      }
    >
      {() => <Fields value={value} place={place} />}
    </Opened>
  );
}

function Fields({ value, place }: { value: object; place: string }): ReactElement {
  const { first, more } = useFirst(Object.entries(value) as [string, unknown][]);
  return (
    <div className="json-fields">
      {first.map(([name, field]) => (
        <Branch key={name} name={name} value={field} place={`${place} ${name}`} isOpen={false} />
      ))}
      {more}
    </div>
  );
}

function Key({ name }: { name: string }): ReactElement {
  return (
    <span className="json-key">
      <SafeText text={shortened(name, LINE_CHARS)} />:{' '}
    </span>
  );
}

interface OpenedProps {
  place: string;
  isOpen: boolean;
  title: ReactNode;
  children: () => ReactNode;
}

function Opened({ place, isOpen, title, children }: OpenedProps): ReactElement {
  const [isShown, setShown] = useKept(place, isOpen);
  return (
    <details className="json" open={isShown} onToggle={({ currentTarget }) => setShown(currentTarget.open)}>
      <summary>{title}</summary>
      {isShown && children()}
    </details>
  );
}
