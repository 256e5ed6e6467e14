// The turns, sessions, batches, crons and evaluations that were opened last in this browser. Only
// their addresses are stored, and a sign-out deletes them.
import { store, stored } from '../storage.ts';

interface RecentItem {
  href: string;
  name: string;
}

const KEY = 'holdfast.recent';
const RECENT_MAX = 8;
const DETAILS = /^\/(turn|session|batche|cron|evaluation)s\/([^/]+)$/;

/** Newest first. */
export function recentItems(): RecentItem[] {
  return stored<string[]>(KEY, []).flatMap((href) => {
    const name = nameOf(href);
    return name === null ? [] : [{ href, name }];
  });
}

/** Notes a path, if it is that of one thing. */
export function noteRecent(path: string): void {
  if (nameOf(path) === null) return;
  store(KEY, [...new Set([path, ...stored<string[]>(KEY, [])])].slice(0, RECENT_MAX));
}

export const clearRecent = (): void => store(KEY, []);

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
