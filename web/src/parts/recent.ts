// The turns, sessions, batches and crons that were opened last in this browser. Only their addresses are stored, and a sign-out deletes them.

export interface RecentItem {
  href: string;
  name: string;
}

const KEY = 'holdfast.recent';
const RECENT_MAX = 8;
const DETAILS = /^\/(turn|session|batche|cron)s\/([^/]+)$/;

/** Newest first. */
export function recentItems(): RecentItem[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    const paths = Array.isArray(stored) ? stored.filter((path): path is string => typeof path === 'string') : [];
    return paths.flatMap((path) => {
      const name = nameOf(path);
      return name === null ? [] : [{ href: path, name }];
    });
  } catch {
    return [];
  }
}

/** Notes a path, if it is that of one thing. */
export function noteRecent(path: string): void {
  if (nameOf(path) === null) return;
  const paths = [path, ...recentItems().map(({ href }) => href)];
  store([...new Set(paths)].slice(0, RECENT_MAX));
}

export function clearRecent(): void {
  store([]);
}

function store(paths: string[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(paths));
  } catch {
    // A browser that stores nothing has no recent items.
  }
}

function nameOf(path: string): string | null {
  const found = DETAILS.exec(path);
  if (found === null) return null;
  const kind = found[1] === 'batche' ? 'batch' : found[1];
  try {
    return `${kind} ${decodeURIComponent(found[2] ?? '')}`;
  } catch {
    return null;
  }
}
