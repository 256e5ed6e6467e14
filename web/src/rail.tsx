// The screens by name: a rail beside the screen, in groups; on a phone a bar with the first of them
// and *More*.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  Activity,
  Bot,
  CalendarClock,
  CircleDollarSign,
  Ellipsis,
  Gauge,
  HeartPulse,
  Hourglass,
  Layers,
  ListTree,
  MailX,
  MessageCircle,
  MessagesSquare,
  Scale,
  Search,
  Send,
  Server,
  Settings2,
  ShieldCheck,
  type LucideIcon,
} from 'lucide-react';
import { useRef, type ReactElement } from 'react';
import { api } from './api.ts';
import { ATTENTION_POLL_MS } from './attention.ts';
import { Chip } from './parts/bits.tsx';
import { useSeesAll } from './me.ts';
import { useSettings } from './settings.tsx';

interface ScreenLink {
  to: string;
  name: string;
  /** After `g`. */
  key: string;
  Icon: LucideIcon;
  /** It is about the whole service, which a key for a part of it does not see. */
  isOfService?: true;
}

/** The first group is in the bar of a phone. */
const GROUPS: readonly { name: string; screens: readonly ScreenLink[] }[] = [
  {
    name: 'Work',
    screens: [
      { to: '/', name: 'Overview', key: 'o', Icon: Gauge, isOfService: true },
      { to: '/sessions', name: 'Sessions', key: 's', Icon: MessagesSquare },
      { to: '/turns', name: 'Turns', key: 't', Icon: ListTree },
      { to: '/waiting', name: 'Waiting', key: 'w', Icon: Hourglass },
    ],
  },
  {
    name: 'Trouble',
    screens: [
      { to: '/approvals', name: 'Approvals', key: 'a', Icon: ShieldCheck },
      { to: '/dead-letters', name: 'Dead letters', key: 'd', Icon: MailX },
      { to: '/deliveries', name: 'Deliveries', key: 'l', Icon: Send },
      { to: '/events', name: 'Events', key: 'e', Icon: Activity },
      { to: '/search', name: 'Search', key: 'f', Icon: Search },
    ],
  },
  {
    name: 'Automation',
    screens: [
      { to: '/agents', name: 'Agents', key: 'i', Icon: Bot },
      { to: '/batches', name: 'Batches', key: 'b', Icon: Layers },
      { to: '/evaluations', name: 'Evaluations', key: 'v', Icon: Scale, isOfService: true },
      { to: '/crons', name: 'Crons', key: 'c', Icon: CalendarClock, isOfService: true },
      { to: '/heartbeats', name: 'Heartbeats', key: 'h', Icon: HeartPulse, isOfService: true },
      { to: '/channels', name: 'Channels', key: 'n', Icon: MessageCircle, isOfService: true },
    ],
  },
  {
    name: 'Service',
    screens: [
      { to: '/costs', name: 'Costs', key: 'm', Icon: CircleDollarSign, isOfService: true },
      { to: '/processes', name: 'Processes', key: 'p', Icon: Server, isOfService: true },
      { to: '/settings', name: 'Settings', key: ',', Icon: Settings2, isOfService: true },
    ],
  },
];

/** The groups of screens that the key of the person is for. */
function groupsFor(seesAll: boolean): typeof GROUPS {
  const groups = GROUPS.map(({ name, screens }) => ({ name, screens: screens.filter((one) => isFor(one, seesAll)) }));
  return groups.filter(({ screens }) => screens.length > 0);
}

const isFor = ({ isOfService }: ScreenLink, seesAll: boolean): boolean => seesAll || !isOfService;

/** All of them, and those of a key for a part of the service. */
export const SCREENS = GROUPS.flatMap(({ screens }) => [...screens]);
export const OWN_SCREENS = SCREENS.filter((one) => isFor(one, false));

/** A badge has room for three digits; the screen has the number. */
const badgeText = (count: number): string => (count > 999 ? '999+' : String(count));

export function Rail({ onGoTo }: { onGoTo: () => void }): ReactElement {
  const { isLive } = useSettings();
  const seesAll = useSeesAll();
  const { data: stats } = useQuery({
    queryKey: ['stats'],
    queryFn: () => api.getStats(),
    enabled: seesAll,
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
  const linkTo = ({ to, name, Icon }: ScreenLink): ReactElement => (
    <li key={to}>
      <Link to={to} activeOptions={{ exact: to === '/' }}>
        <Icon size={16} />
        {name}
        {(counts[to] ?? 0) > 0 && (
          <Chip tone={bad.has(to) ? 'bad' : 'warn'}>
            {badgeText(counts[to] ?? 0)}
            {to === '/' && <span className="hidden-visually"> need attention</span>}
          </Chip>
        )}
      </Link>
    </li>
  );
  const [main, ...others] = groupsFor(seesAll);
  const more = useRef<HTMLDivElement>(null);
  const goTo = (
    <GoTo
      onClick={() => {
        if (more.current?.matches(':popover-open') === true) more.current.hidePopover();
        onGoTo();
      }}
    />
  );
  return (
    <nav aria-label="Screens">
      {goTo}
      <ul>{main?.screens.map(linkTo)}</ul>
      <button type="button" className="more-button" data-palette popoverTarget="more">
        <Ellipsis size={16} />
        More
        {(stats?.approvals ?? 0) > 0 && <Chip tone="warn">{badgeText(stats?.approvals ?? 0)}</Chip>}
        {(stats?.deadLetters ?? 0) > 0 && <Chip tone="bad">{badgeText(stats?.deadLetters ?? 0)}</Chip>}
      </button>
      <div
        id="more"
        className="more"
        popover="auto"
        ref={more}
        onClick={({ target }) => target instanceof HTMLAnchorElement && more.current?.hidePopover()}
      >
        {goTo}
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

/** Opens the palette; on a phone it is in *More*. */
function GoTo({ onClick }: { onClick: () => void }): ReactElement {
  return (
    <button type="button" className="button go-to" data-palette aria-keyshortcuts="Control+K Meta+K" onClick={onClick}>
      <Search size={15} /> Go to… <kbd aria-hidden>Ctrl K</kbd>
    </button>
  );
}
