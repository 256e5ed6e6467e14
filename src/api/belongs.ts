// What a route is about, and whether a caller with a scope may ask for it. What is outside of the
// scope does not exist for its key: 404, in the same words for what there is and for what never was
// (G44). This is decided before the body is checked and before a stored answer is searched for.
import { DEFAULT_CHANNEL, type InboundMessage, OPERATOR_FIELDS } from '../core/inbound.ts';
import { EVERYTHING, holdsAgent, isInside, type Scope, wholeAgents } from '../core/scope.ts';
import type { ViewDatabase } from '../database/page.ts';
import { findRoot, findRootOf, type ItemKind } from '../kernel/views/scope.ts';
import type { Principal } from './key-ring.ts';
import { type PathValues, parseSessionKey } from './parse-json.ts';
import { notFound, Problem } from './problem.ts';

/** The parts of a request that name things; only the path is checked. */
export interface Asked {
  params: Partial<PathValues>;
  query: unknown;
  body: unknown;
}

/**
 * Resolves with the root of what the request names; null: it names nothing of a session. Throws
 * `Problem` 404 for what the scope does not have.
 */
export type FindPlace = (asked: Asked, scope: readonly string[], db: ViewDatabase) => Promise<string | null>;

/**
 * - `public`: it is about nothing that belongs to a session or a key.
 * - `self`: it is about the caller, or its handler finds what it names and refuses what is outside.
 * - `list`: its handler gives the caller's scope to a view.
 * - `session`, `agent`: it is about the one in its path. The scope must have all of the agent.
 * - `agents`: its handler shows only agents of which the scope has everything; a scope of
 *   sessions has none.
 * - `service`: it is about the whole service. Keys with a scope are refused.
 * - a function: it finds what else the request names.
 */
type Place = 'public' | 'self' | 'list' | 'session' | 'agent' | 'agents' | 'service' | FindPlace;

export type Belongs = Place | readonly [Place, ...Place[]];

/** The thing with the id in the path. */
export function item(kind: ItemKind, parameter: keyof PathValues = 'id'): FindPlace {
  return async ({ params }, scope, db) => {
    const id = String(params[parameter]);
    return requireInside(scope, await findRoot(db, kind, id), `${kind} ${id}`);
  };
}

/** The root; throws that there is no such thing if the scope does not have it. */
function requireInside(scope: Scope, root: string | null, what: string): string {
  if (root !== null && isInside(scope, root)) return root;
  throw notFound(what);
}

const itsSession: FindPlace = async ({ params: { key = '' } }, scope, db) =>
  requireInside(scope, (await findRootOf(db, key)) ?? key, `session ${key}`);

/** The session that a field of the body names, if it names one. */
export function sessionIn(field: string): FindPlace {
  return async ({ query, body }, scope, db) => {
    const key = (body as Record<string, unknown> | null | undefined)?.[field];
    if (typeof key !== 'string') return null;
    return itsSession({ params: { key: parseSessionKey(key, field) }, query, body }, scope, db);
  };
}

/** For those who find sessions by other ways: whether the scope has the one of this key. */
export async function isSessionSeen(key: string, scope: Scope, db: ViewDatabase): Promise<boolean> {
  return scope === EVERYTHING || isInside(scope, (await findRootOf(db, key)) ?? key);
}

/** The roots of what a request is about. Throws `Problem` 403 or 404 unless the caller may ask for that. */
export async function refuseOutside(
  { belongs }: { belongs: Belongs },
  { scope }: Pick<Principal, 'scope'>,
  asked: Asked,
  db: ViewDatabase,
): Promise<string[]> {
  if (scope === EVERYTHING) return [];
  const roots: string[] = [];
  for (const place of typeof belongs === 'object' ? belongs : [belongs]) {
    const root = await findPlace(place, scope, asked, db);
    if (root !== null) roots.push(root);
  }
  return roots;
}

async function findPlace(
  place: Place,
  scope: readonly string[],
  asked: Asked,
  db: ViewDatabase,
): Promise<string | null> {
  // A route has the parameters that its places need.
  const { agent = '' } = asked.params;
  switch (place) {
    case 'public':
    case 'self':
    case 'list':
      return null;
    case 'session':
      return itsSession(asked, scope, db);
    case 'agent':
      if (holdsAgent(scope, agent)) return null;
      throw notFound(`agent ${agent}`);
    case 'agents':
      if ((wholeAgents(scope) ?? []).length > 0) return null;
      throw refusal('it is about whole agents, and the key is for some of their sessions');
    case 'service':
      throw refusal('it is about the whole service, and the key is for a part of it');
    default:
      return place(asked, scope, db);
  }
}

function refusal(why: string): Problem {
  return new Problem('forbidden', `This request is refused: ${why}. Use a key without agents and sessions.`);
}

/**
 * Throws `Problem` 403 for a request, or an item of one, that has what only a caller is believed who
 * sees everything: where an answer is sent to, the chat of a platform, the words of an operator, and
 * files of the workspace, which belong to the agent. `deliver: null` is nowhere.
 */
export function refuseAuthority(scope: Scope, sent: unknown, place = ''): void {
  if (scope === EVERYTHING || typeof sent !== 'object' || sent === null) return;
  const { deliver, channel, media, ...rest } = sent as Partial<InboundMessage>;
  if ((deliver ?? null) !== null) throw refusal(`${place}deliver sends answers out of the part that the key is for`);
  const isOtherChannel = channel !== undefined && channel !== DEFAULT_CHANNEL;
  const field = isOtherChannel ? 'channel' : OPERATOR_FIELDS.find((name) => name in rest);
  if (field !== undefined) throw refusal(`${place}${field} is for keys that see everything`);
  const isFile = Array.isArray(media) && media.some((one) => typeof one?.path === 'string');
  if (isFile) throw refusal(`${place}media.path names a file of the agent; send its url`);
}
