// Two texts merged: what both have, and the lines that only one of them has.
import { useMemo, type ReactElement } from 'react';
import { countText } from '../format/amounts.ts';
import { Chip } from '../parts/bits.tsx';
import { LongText } from '../parts/safe-text.tsx';
import { diffTexts } from './alignment.ts';

/** So many equal lines are folded. */
const FOLDED_FROM = 6;
/** What the two sides are called. */
const SIDES = { A: 'A', B: 'B' } as const;

/**
 * Two texts merged, with the parts that only one of them has; texts that are too different are
 * shown one after the other.
 */
export function TextDifference(props: {
  a: string;
  b: string;
  names?: Readonly<Record<keyof typeof SIDES, string>>;
}): ReactElement {
  const { a, b, names = SIDES } = props;
  const runs = useMemo(() => diffTexts(a, b), [a, b]);
  if (a === b) return <LongText text={a} />;
  if (runs === null)
    return (
      <>
        <p className="soft">The texts are too long or too different to be compared line by line.</p>
        <h3>{names.A}</h3>
        <LongText text={a} />
        <h3>{names.B}</h3>
        <LongText text={b} />
      </>
    );
  return (
    <div className="difference">
      {runs.map(({ side, text, lines }, index) =>
        side === 'both' && lines > FOLDED_FROM ? (
          <details key={index}>
            <summary className="soft">{countText(lines)} lines are the same</summary>
            <LongText text={text} />
          </details>
        ) : (
          <div key={index} data-side={side}>
            {side !== 'both' && <Chip>only {names[side]}</Chip>}
            <LongText text={text} />
          </div>
        ),
      )}
    </div>
  );
}
