// The frame of every screen: the rail, the header with the environment, the state of the live
// stream and the menu of the person, banners, and the help for keys.
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { Pause, Play } from 'lucide-react';
import { lazy, Suspense, useEffect, useState, type ReactElement } from 'react';
import { api } from './api.ts';
import { nameOfPath, pageTitle } from './format/title.ts';
import { LiveProvider, useLive } from './live/live-provider.tsx';
import { readyQuery, useOutage, useRecovery } from './live/outage.ts';
import { Away, awayParts } from './parts/away.tsx';
import { Chip, Empty, Time } from './parts/bits.tsx';
import { Button } from './parts/button.tsx';
import { clearRecent, noteRecent } from './parts/recent.ts';
import { Select } from './parts/fields.tsx';
import { Environment } from './parts/environment.tsx';
import { SafeText } from './parts/safe-text.tsx';
import { Help, useShortcuts } from './parts/shortcuts.tsx';
import { me, useSeesAll } from './me.ts';
import { OWN_SCREENS, Rail, SCREENS } from './rail.tsx';
import { useSettings, type Theme } from './settings.tsx';

/** It has no place in the rail: it is reached from what it is about, or by name. */
const COMPARE = { to: '/compare', name: 'Compare' };
const NAMED = [...SCREENS, COMPARE];

/** Loaded when it is first opened. */
const Palette = lazy(async () => ({ default: (await import('./parts/palette.tsx')).Palette }));

export function Shell(): ReactElement {
  const [opened, setOpened] = useState<'help' | 'palette' | null>(null);
  const screens = useSeesAll() ? SCREENS : OWN_SCREENS;
  useShortcuts(screens, setOpened);
  return (
    <LiveProvider>
      <div className="shell">
        <Header onHelp={() => setOpened('help')} />
        {opened === 'help' && <Help screens={screens} onClose={() => setOpened(null)} />}
        {opened === 'palette' && (
          <Suspense>
            <Palette screens={[...screens, COMPARE]} onClose={() => setOpened(null)} />
          </Suspense>
        )}
        <Rail onGoTo={() => setOpened('palette')} />
        <Main />
      </div>
    </LiveProvider>
  );
}

/** The screen; greyed while it cannot be read. */
function Main(): ReactElement {
  const outage = useOutage();
  useRecovery(outage);
  const seesAll = useSeesAll();
  const { pathname } = useLocation();
  const screen = SCREENS.find(({ to }) => to !== '/' && `${pathname}/`.startsWith(`${to}/`));
  return (
    <main id="main" tabIndex={-1} className={outage === null ? undefined : 'stale'}>
      {screen?.isOfService === true && !seesAll ? <OfService name={screen.name} /> : <Outlet />}
    </main>
  );
}

/** In the place of a screen that a key for a part of the service cannot read. */
function OfService({ name }: { name: string }): ReactElement {
  return (
    <>
      <h1>{name}</h1>
      <Empty>Your key is for a part of the service, this screen for all of it.</Empty>
    </>
  );
}

function Header({ onHelp }: { onHelp: () => void }): ReactElement {
  const { isLive, change } = useSettings();
  const { pathname } = useLocation();
  const { data: ready } = useQuery(readyQuery);
  const environment = ready?.environment;
  useEffect(() => noteRecent(pathname), [pathname]);
  useEffect(() => {
    document.title = pageTitle(nameOfPath(pathname, NAMED), environment);
  }, [pathname, environment]);
  return (
    <header className="top">
      <div className="bar">
        <strong className="brand">Holdfast</strong>
        <Environment name={environment} />
        <span className="soft host">{location.host}</span>
        <span className="connection">
          <StreamChip />
          <button
            type="button"
            className="icon-button"
            aria-pressed={isLive}
            aria-label={isLive ? 'Pause' : 'Go live'}
            title={isLive ? 'Pause all updates' : 'Go live'}
            onClick={() => change({ isLive: !isLive })}
          >
            {isLive ? <Pause size={15} /> : <Play size={15} />}
          </button>
        </span>
        <Menu version={ready?.version} onHelp={onHelp} />
      </div>
      <Banners />
    </header>
  );
}

/** Who has signed in, and what that person chooses in this browser. */
function Menu({ version, onHelp }: { version: string | undefined; onHelp: () => void }): ReactElement {
  const { theme, change } = useSettings();
  const { data: who } = useSuspenseQuery(me);
  return (
    <>
      <button
        type="button"
        className="person"
        data-palette
        popoverTarget="menu"
        aria-label={`Menu of ${who.principal}`}
      >
        <span aria-hidden>{who.principal.slice(0, 1).toUpperCase()}</span>
      </button>
      <div id="menu" className="menu panel" popover="auto">
        <p>
          <strong>
            <SafeText text={who.principal} />
          </strong>{' '}
          <span className="soft">{who.role}</span>
        </p>
        {who.sees !== null && (
          <p className="soft">
            Sees <SafeText text={who.sees.join(', ')} />
            {!who.listsComplete && '. Lists are not complete yet.'}
          </p>
        )}
        <ZoneChoice />
        <Select
          name="Theme"
          value={theme}
          options={{ system: 'As the system', light: 'Light', dark: 'Dark' }}
          onChange={(next: Theme) => change({ theme: next })}
        />
        <Button onClick={onHelp}>Keys and help</Button>
        <SignOut />
        {version !== undefined && <p className="soft">version {version}</p>}
      </div>
    </>
  );
}

const ZONE_NAMES: Readonly<Record<string, string>> = { local: 'Local time', utc: 'UTC' };

/** Local time, UTC, or the zone of the cron that was opened last. */
function ZoneChoice(): ReactElement {
  const { zone, cronZone, change } = useSettings();
  const zones = new Set(['local', 'utc', zone, ...(cronZone === null ? [] : [cronZone])]);
  return (
    <Select
      name="Time zone"
      value={zone}
      options={Object.fromEntries([...zones].map((each) => [each, ZONE_NAMES[each] ?? each]))}
      onChange={(next) => change({ zone: next })}
    />
  );
}

function StreamChip(): ReactElement {
  const { isLive } = useSettings();
  const { state } = useLive();
  if (!isLive) return <Chip>Paused</Chip>;
  const shown = {
    open: ['Live', 'good'],
    connecting: ['Connecting', 'warn'],
    broken: ['Reconnecting', 'bad'],
    'signed-out': ['Signed out', 'bad'],
  } as const;
  const [text, tone] = shown[state];
  return (
    <Chip tone={tone} role="status">
      {text}
    </Chip>
  );
}

function Banners(): ReactElement {
  const { isLive } = useSettings();
  const { state } = useLive();
  const outage = useOutage();
  const ready = useQuery(readyQuery);
  return (
    <>
      {isLive && state === 'signed-out' && (
        <div className="banner" data-tone="bad" role="alert">
          This browser is signed out. <Link to="/sign-in">Sign in again</Link>; what is shown is old.
        </div>
      )}
      {outage !== null && (
        <div className="banner" data-tone="bad" role="status">
          <Away ready={ready.data} error={ready.error} />{' '}
          {outage.readAt !== null && (
            <>
              What is shown is from <Time at={outage.readAt} />.
            </>
          )}
        </div>
      )}
      {outage === null && awayParts(ready.data, null).length > 0 && (
        <div className="banner" data-tone="bad" role="status">
          <Away ready={ready.data} error={null} />
        </div>
      )}
      {ready.data?.model.isScripted === true && (
        <div className="banner">
          The scripted model answers, because no key of a provider is set. Amounts are what the calls would have cost.
        </div>
      )}
    </>
  );
}

function SignOut(): ReactElement {
  const queries = useQueryClient();
  const navigate = useNavigate();
  async function signOut(): Promise<void> {
    await api.signOut({}).catch(() => undefined);
    queries.clear();
    clearRecent();
    await navigate({ to: '/sign-in' });
  }
  return <Button onClick={() => void signOut()}>Sign out</Button>;
}

export function NotFound(): ReactElement {
  return (
    <Empty>
      There is no such screen. <Link to="/">Overview</Link>
    </Empty>
  );
}
