// Of which agents, kinds, lanes and models the turns are that ended within a day, from the
// roll-ups; each leads to the list of those.
import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { SafeText } from '../parts/safe-text.tsx';

const GROUPS = ['agent', 'kind', 'lane', 'model'] as const;
/** The largest of each group. */
const SHOWN_MAX = 8;

export function TurnFacets(): ReactElement {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Facets of the last day</summary>
      {isOpen && <Groups />}
    </details>
  );
}

function Groups(): ReactElement {
  const usages = useQueries({
    queries: GROUPS.map((group) => ({
      queryKey: ['facets', group],
      queryFn: () => api.getUsage({ by: 'hour', group }),
    })),
  });
  return (
    <dl className="facts">
      {GROUPS.map((group, at) => (
        <div key={group}>
          <dt>{group}</dt>
          <dd>
            <ul className="row" aria-label={group}>
              {largestOf(usages[at]?.data?.items ?? []).map(([name, turns]) => (
                <li key={name}>
                  <Link to="/turns" search={(before) => ({ ...before, [group]: name })}>
                    <SafeText text={name} /> {countText(turns)}
                  </Link>
                </li>
              ))}
            </ul>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function largestOf(steps: readonly { group: string | null; turns: number }[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { group, turns } of steps)
    if (group !== null && turns > 0) counts.set(group, (counts.get(group) ?? 0) + turns);
  return [...counts].toSorted(([, one], [, other]) => other - one).slice(0, SHOWN_MAX);
}
