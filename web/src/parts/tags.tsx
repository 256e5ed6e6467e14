// The tags of a turn, or of what starts turns: each leads to the turns, or the sessions, that have
// it.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Turn } from '../api.ts';
import { Fact } from './bits.tsx';
import { SafeText } from './safe-text.tsx';

export function Tags({ tags, to = '/turns' }: { tags: Turn['tags']; to?: '/turns' | '/sessions' }): ReactElement {
  return (
    <>
      {Object.entries(tags).map(([key, value]) => (
        <span key={key}>
          <Link className="chip" to={to} search={{ tag: `${key}:${value}` }}>
            <SafeText text={`${key}: ${value}`} />
          </Link>{' '}
        </span>
      ))}
    </>
  );
}

/** The same among the facts of a screen; nothing without tags. */
export function TagsFact({ tags }: { tags: Turn['tags'] }): ReactElement | null {
  if (Object.keys(tags).length === 0) return null;
  return (
    <Fact name="Tags">
      <Tags tags={tags} />
    </Fact>
  );
}
