// The user's choices in this browser: theme, zone, and whether the page is live. Also the time
// against which ages are computed.
import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
  type ReactElement,
  type ReactNode,
} from 'react';
import { isZone, serverNowMs } from './format/time.ts';
import { store, stored } from './storage.ts';

export type Theme = 'system' | 'light' | 'dark';

interface Settings {
  theme: Theme;
  /** In which zone times are shown: `local`, `utc` or an IANA name. */
  zone: string;
  /** That of the cron that was opened last, which the header offers; null: none was. */
  cronZone: string | null;
  /** False: nothing is refreshed but by hand. */
  isLive: boolean;
  /** Keys such as j and k do something. */
  hasShortcuts: boolean;
}

interface SettingsContext extends Settings {
  change: (change: Partial<Settings>) => void;
}

const KEY = 'holdfast.settings';
const DEFAULTS: Settings = { theme: 'system', zone: 'local', cronZone: null, isLive: true, hasShortcuts: true };
const Context = createContext<SettingsContext>({ ...DEFAULTS, change: () => undefined });

/** Invalid values are replaced by the defaults. */
function known(): Settings {
  const { theme, zone, hasShortcuts } = stored<Partial<Settings>>(KEY, {});
  return {
    ...DEFAULTS,
    ...(theme === 'light' || theme === 'dark' ? { theme } : {}),
    ...(typeof zone === 'string' && isZone(zone) ? { zone } : {}),
    ...(hasShortcuts === false ? { hasShortcuts } : {}),
  };
}

export function SettingsProvider({ children }: { children: ReactNode }): ReactElement {
  const [settings, setSettings] = useState(known);
  useEffect(() => {
    document.documentElement.dataset['theme'] = settings.theme;
    store(KEY, settings);
  }, [settings]);
  const change = useCallback((part: Partial<Settings>) => setSettings((before) => ({ ...before, ...part })), []);
  const value = useMemo(() => ({ ...settings, change }), [settings, change]);
  return <Context value={value}>{children}</Context>;
}

export function useSettings(): SettingsContext {
  return useContext(Context);
}

const TICK_MS = 1_000;
const listeners = new Set<() => void>();
let nowMs = serverNowMs();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (document.hidden) return;
    nowMs = serverNowMs();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time at the service, to the second: one timer for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}
