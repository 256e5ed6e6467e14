// What a route is about, and whether a caller with a scope may ask for it. What is outside of the
// scope does not exist for its key: 404, in the same words for what there is and for what never was
// (G44). This is decided before the body is checked and before a stored answer is searched for.
import { EVERYTHING, holdsAgent, isInside, type Scope, wholeAgents } from '../core/scope.ts';
import type { ViewDatabase } from '../database/page.ts';
import { findRootOf, type IsSeen } from '../kernel/views/scope.ts';
import type { Principal } from './key-ring.ts';
import { type PathValues, parseSessionKey } from './parse-json.ts';
import { notFound, Problem } from './problem.ts';

/** The parts of a request that name things; only the path is checked. */
export interface Asked {
  params: Partial<PathValues>;
  query: unknown;
  body: unknown;
}

/** Resolves with what the request names and the scope does not have; null: nothing. */
export type FindMissing = (asked: Asked, scope: readonly string[], db: ViewDatabase) => Promise<string | null>;

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
type Place = 'public' | 'self' | 'list' | 'session' | 'agent' | 'agents' | 'service' | FindMissing;

export type Belongs = Place | readonly [Place, ...Place[]];

/** The thing with the id in the path. */
export function item(noun: string, isSeen: IsSeen, parameter: keyof PathValues = 'id'): FindMissing {
  return async ({ params }, scope, db) => {
    const id = String(params[parameter]);
    return (await isSeen(db, id, scope)) ? null : `${noun} ${id}`;
  };
}

/** The session that a field of the body names, if it names one. */
export function sessionIn(field: string): FindMissing {
  return async ({ body }, scope, db) => {
    const key = (body as Record<string, unknown> | null | undefined)?.[field];
    return typeof key === 'string' ? findMissingSession(parseSessionKey(key, field), scope, db) : null;
  };
}

/** For those who find sessions by other ways: `session <key>` when the scope does not have it. */
export async function findMissingSession(
  key: string,
  scope: readonly string[],
  db: ViewDatabase,
): Promise<string | null> {
  return isInside(scope, (await findRootOf(db, key)) ?? key) ? null : `session ${key}`;
}

/** Throws `Problem` 403 or 404 unless the caller may ask for that. */
export async function refuseOutside(
  { belongs }: { belongs: Belongs },
  { scope }: Pick<Principal, 'scope'>,
  asked: Asked,
  db: ViewDatabase,
): Promise<void> {
  if (scope === null) return;
  for (const place of typeof belongs === 'object' ? belongs : [belongs]) {
    const missing = await findMissing(place, scope, asked, db);
    if (missing !== null) throw notFound(missing);
  }
}

async function findMissing(
  place: Place,
  scope: readonly string[],
  asked: Asked,
  db: ViewDatabase,
): Promise<string | null> {
  // A route has the parameters that its places need.
  const { key = '', agent = '' } = asked.params;
  switch (place) {
    case 'public':
    case 'self':
    case 'list':
      return null;
    case 'session':
      return findMissingSession(key, scope, db);
    case 'agent':
      return holdsAgent(scope, agent) ? null : `agent ${agent}`;
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
 * Throws `Problem` 403 for a request, or an item of one, that says where an answer is sent to: what
 * an agent says would leave the scope. `deliver: null` is nowhere.
 */
export function refuseReceiver(scope: Scope, sent: unknown, place = ''): void {
  if (scope === EVERYTHING || typeof sent !== 'object' || sent === null) return;
  if (!('deliver' in sent) || sent.deliver === null) return;
  throw refusal(`${place}deliver sends answers out of the part that the key is for`);
}
