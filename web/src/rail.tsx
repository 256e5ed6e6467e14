// The screens by name: a rail beside the screen, in groups; on a phone a bar with the first of them
// and *More*.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useRef, type ReactElement } from 'react';
import { api } from './api.ts';
import { ATTENTION_POLL_MS } from './attention.ts';
import { Chip } from './parts/bits.tsx';
import { useSettings } from './settings.tsx';

/** The first group is in the bar of a phone. */
const GROUPS = [
  {
    name: null,
    screens: [
      { to: '/', name: 'Overview', key: 'o' },
      { to: '/sessions', name: 'Sessions', key: 's' },
      { to: '/turns', name: 'Turns', key: 't' },
      { to: '/waiting', name: 'Waiting', key: 'w' },
    ],
  },
  {
    name: 'Find',
    screens: [
      { to: '/search', name: 'Search', key: 'f' },
      { to: '/events', name: 'Events', key: 'e' },
    ],
  },
  {
    name: 'Work',
    screens: [
      { to: '/approvals', name: 'Approvals', key: 'a' },
      { to: '/crons', name: 'Crons', key: 'c' },
      { to: '/heartbeats', name: 'Heartbeats', key: 'h' },
      { to: '/batches', name: 'Batches', key: 'b' },
    ],
  },
  {
    name: 'Results',
    screens: [
      { to: '/deliveries', name: 'Deliveries', key: 'l' },
      { to: '/dead-letters', name: 'Dead letters', key: 'd' },
      { to: '/costs', name: 'Costs', key: 'm' },
    ],
  },
  {
    name: 'Service',
    screens: [
      { to: '/channels', name: 'Channels', key: 'n' },
      { to: '/processes', name: 'Processes', key: 'p' },
      { to: '/settings', name: 'Settings', key: ',' },
    ],
  },
] as const;
export const SCREENS = GROUPS.flatMap(({ screens }) => [...screens]);
type ScreenLink = (typeof SCREENS)[number];

export function Rail(): ReactElement {
  const { isLive } = useSettings();
  const { data: stats } = useQuery({
    queryKey: ['stats'],
    queryFn: () => api.getStats(),
    refetchInterval: isLive ? ATTENTION_POLL_MS : false,
  });
  const { errors = 0, warnings = 0 } = stats?.attention ?? {};
  const bad = new Set(errors > 0 ? ['/', '/dead-letters'] : ['/dead-letters']);
  const counts: Partial<Record<string, number>> = {
    '/': errors + warnings,
    '/dead-letters': stats?.deadLetters,
    '/approvals': stats?.approvals,
    '/waiting': stats?.messages['waiting'],
  };
  const linkTo = ({ to, name }: ScreenLink): ReactElement => (
    <li key={to}>
      <Link to={to} activeOptions={{ exact: to === '/' }}>
        {name}
        {(counts[to] ?? 0) > 0 && (
          <Chip tone={bad.has(to) ? 'bad' : 'warn'}>
            {counts[to]}
            {to === '/' && <span className="hidden-visually"> need attention</span>}
          </Chip>
        )}
      </Link>
    </li>
  );
  const [main, ...others] = GROUPS;
  const more = useRef<HTMLDivElement>(null);
  return (
    <nav aria-label="Screens">
      <ul>{main.screens.map(linkTo)}</ul>
      <button type="button" className="more-button" data-palette popoverTarget="more">
        More
        {(stats?.approvals ?? 0) > 0 && <Chip tone="warn">{stats?.approvals}</Chip>}
        {(stats?.deadLetters ?? 0) > 0 && <Chip tone="bad">{stats?.deadLetters}</Chip>}
      </button>
      <div
        id="more"
        className="more"
        popover="auto"
        ref={more}
        onClick={({ target }) => target instanceof HTMLAnchorElement && more.current?.hidePopover()}
      >
        {others.map(({ name, screens }) => (
          <div key={name}>
            <h2 className="soft">{name}</h2>
            <ul>{screens.map(linkTo)}</ul>
          </div>
        ))}
      </div>
    </nav>
  );
}
