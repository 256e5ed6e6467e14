// What a token for browsers may do: less than its key, in the sessions that it names. A route is
// for tokens only where it says so, and of its answer a token gets what a schema leaves.
import type { z } from 'zod';
import { sentByToken } from '../contract/token-views.ts';
import type { TokenClaims, TokenRight } from '../core/browser-token.ts';
import type { SessionKey } from '../core/ids.ts';
import type { ViewDatabase } from '../database/page.ts';
import { viewMessage } from '../kernel/views/messages.ts';
import { findRootOf } from '../kernel/views/scope.ts';
import { findTurn } from '../kernel/views/turns.ts';
import type { Answer } from './answer.ts';
import { type Asked, isSessionSeen } from './belongs.ts';
import type { Principal } from './key-ring.ts';
import { parseSessionKey, parseWith } from './parse-json.ts';
import { fieldProblem, notFound, Problem } from './problem.ts';

/** What tokens may do with a route. */
export interface TokenAccess {
  may: TokenRight;
  /** Where the request names its session: in the path or the query, or by the `id` of what has one. */
  session: 'path' | 'query' | 'turn' | 'message';
  /** Its answer as a token gets it; absent: events, which the handler shows to it by `showEvent`. */
  shows?: z.ZodType;
}

/** Throws `Problem` 403 unless the token may use the route. */
export function refuseToken(access: TokenAccess | undefined, { may }: TokenClaims): asserts access is TokenAccess {
  if (access !== undefined && may.includes(access.may)) return;
  throw new Problem(
    'forbidden',
    access === undefined
      ? 'This request is not for tokens. Send a key of this service, from a server: a page must not have one.'
      : `The token allows ${may.join(' and ')}; this request needs ${access.may}. Make a token that allows it.`,
  );
}

/**
 * Throws `Problem` 404 when the request is about a session that the token or its key does not have,
 * and 400 when it sends what a token cannot send. `belongs` says nothing to tokens: each of their
 * routes is about one session, also where a key may ask for all.
 */
export async function refuseOutsideToken(
  { token: access }: { token?: TokenAccess },
  { token, scope }: Principal,
  asked: Asked,
  db: ViewDatabase,
): Promise<string[]> {
  if (token === undefined) return [];
  refuseToken(access, token);
  const [found, noun] = await findSessionOf(access.session, asked, db);
  // As its row has it, or checked.
  const key = found as SessionKey | null;
  const isInside = key !== null && (await isOfToken(token.sessions, key, db));
  if (!isInside || !(await isSessionSeen(key, scope, db))) throw notFound(noun);
  if (access.may === 'send') parseWith(sentByToken, asked.body, 'invalid_body');
  return [key];
}

/** What a token gets of an answer. */
export function showToToken(access: TokenAccess | undefined, answer: Answer): Answer {
  const { once: _once, body, ...rest } = answer;
  // Only a stream has no schema, and it has answered by itself, or has nothing to send.
  return { ...rest, body: access?.shows?.parse(body) };
}

/** The session that a request is about, null if there is none; and what the request names. */
async function findSessionOf(
  place: TokenAccess['session'],
  { params: { key, id = '' }, query }: Asked,
  db: ViewDatabase,
): Promise<[key: string | null, noun: string]> {
  switch (place) {
    case 'path':
      return [key ?? null, `session ${key}`];
    case 'query': {
      const { session, tag } = query as { session?: unknown; tag?: unknown };
      // A filter would tell what the answer leaves out.
      if (tag !== undefined) throw fieldProblem('tag', 'is not for tokens, which see no tags', 'invalid_query');
      if (typeof session !== 'string') throw fieldProblem('session', 'is missing: a token is for one', 'invalid_query');
      const named = parseSessionKey(session, 'session');
      return [named, `session ${named}`];
    }
    case 'turn':
      return [(await findTurn(db, id))?.sessionKey ?? null, `turn ${id}`];
    case 'message':
      return [(await viewMessage(db, id))?.sessionKey ?? null, `message ${id}`];
    default:
      return place satisfies never;
  }
}

/** A session of a prefix also comes from one (G44): a fork of another session is not of the token. */
async function isOfToken(sessions: string, key: string, db: ViewDatabase): Promise<boolean> {
  if (!sessions.endsWith('*')) return key === sessions;
  const prefix = sessions.slice(0, -1);
  return key.startsWith(prefix) && ((await findRootOf(db, key)) ?? key).startsWith(prefix);
}
