// Which limit holds for the past of a session: how many of its user turns a request shows. Direct chats and groups have their own; a
// platform may have others, and a single person on it, too.
import type { SessionKind } from '../session-key.ts';

/** The limits of a platform, by the names of the configuration (`channels.<name>`). */
export interface PlatformLimits {
  historyLimit?: number;
  dmHistoryLimit?: number;
  /** By the person's id there. */
  dms?: Record<string, { historyLimit?: number }>;
}

export interface HistoryLimits {
  /** `session.dmHistoryLimit` and `session.historyLimit`. */
  session: { dmHistoryLimit?: number; historyLimit?: number };
  platforms: Readonly<Record<string, PlatformLimits>>;
}

/** The person or group of the limit. */
export interface LimitedSession {
  key: string;
  kind: SessionKind;
  /** True when its messages come from a group; for sessions whose key does not show it. */
  isGroup: boolean;
}

/** The last part of a key with a person or a group in it: its platform, and their id. */
interface Peer {
  platform: string;
  id: string;
}

const PEER_SEGMENTS: ReadonlySet<string> = new Set(['direct', 'dm', 'group', 'channel']);
const THREAD_SEGMENTS: ReadonlySet<string> = new Set(['thread', 'topic']);

/** The limit for a session, in user turns; undefined: there is none (also when it is set to 0). Only chats with people have one. */
export function historyLimitOf(session: LimitedSession, limits: HistoryLimits): number | undefined {
  const limit = isGroupChat(session) ? groupLimit(session, limits) : directLimit(session, limits);
  return limit === undefined || limit <= 0 ? undefined : limit;
}

function isGroupChat({ kind, isGroup }: LimitedSession): boolean {
  return kind === 'group' || ((kind === 'other' || kind === 'main') && isGroup);
}

function groupLimit({ key }: LimitedSession, { session, platforms }: HistoryLimits): number | undefined {
  const peer = peerOf(key);
  return (peer && platformOf(platforms, peer)?.historyLimit) ?? session.historyLimit;
}

function directLimit({ key, kind }: LimitedSession, { session, platforms }: HistoryLimits): number | undefined {
  if (kind !== 'direct' && kind !== 'main' && kind !== 'other') return undefined;
  const peer = peerOf(key);
  const platform = peer && platformOf(platforms, peer);
  return (peer && limitOfPerson(platform, peer.id)) ?? platform?.dmHistoryLimit ?? session.dmHistoryLimit;
}

function platformOf(platforms: HistoryLimits['platforms'], { platform }: Peer): PlatformLimits | undefined {
  return Object.hasOwn(platforms, platform) ? platforms[platform] : undefined;
}

/** Keys are lower case, ids in the configuration need not be. */
function limitOfPerson(platform: PlatformLimits | null | undefined, id: string): number | undefined {
  return Object.entries(platform?.dms ?? {}).find(([known]) => known.toLowerCase() === id)?.[1].historyLimit;
}

/** The peer of `agent:<id>:<platform>:[<account>:]direct:<peer>`, without the thread after it; null for other keys. */
function peerOf(key: string): Peer | null {
  const segments = key.split(':').slice(2);
  const typeAt = segments.slice(0, 3).findIndex((segment) => PEER_SEGMENTS.has(segment));
  const [platform] = segments;
  if (typeAt < 1 || platform === undefined) return null;
  const rest = segments.slice(typeAt + 1);
  const threadAt = rest.findIndex((segment) => THREAD_SEGMENTS.has(segment));
  return { platform, id: (threadAt === -1 ? rest : rest.slice(0, threadAt)).join(':') };
}
