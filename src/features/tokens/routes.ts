// Makes tokens for browsers.
import { tokensOf } from './manage-tokens.ts';
import { token, tokenRequest } from './contract.ts';
import { isSessionSeen } from '../../api/belongs.ts';
import { generationOf, type Principal } from '../../api/key-ring.ts';
import { parseSessionKey } from '../../api/parse-json.ts';
import { refuseRole } from '../../api/perform-route.ts';
import { fieldProblem, notFound, Problem } from '../../api/problem.ts';
import { defineRoute, type Route } from '../../api/route.ts';
import { agentOf } from '../../config.ts';
import { describeScope, faultOfPrefix, isInside } from '../../core/scope.ts';
import { agentIdOf } from '../../core/session-key.ts';
import type { ApiContext } from '../../api/context.ts';

const postToken = defineRoute({
  operationId: 'createToken',
  belongs: 'self',
  method: 'POST',
  path: '/v1/tokens',
  // Nothing is stored. What is sent with a token has the name of its key.
  isAudited: false,
  summary: 'Create a token with which a browser can send to a session and read it. It is not stored',
  role: 'viewer',
  body: tokenRequest,
  answers: {
    201: { description: 'The token', schema: token },
    403: { description: 'The key was not created through the API, or has a role that cannot send' },
    404: { description: 'The key does not have the session, or its agent does not exist' },
  },
  async handle({ body, principal }, { context }) {
    const { stored } = principal;
    if (stored === undefined) {
      throw new Problem(
        'forbidden',
        'Only a key that was created through the API can make tokens, so that its revocation ends them. Create one with "holdfast keys create <name> --role operator".',
      );
    }
    if (body.allow.includes('send')) refuseRole(principal.role, 'operator');
    const nowMs = context.clock.now().getTime();
    const endsAtMs = stored.expiresAt === null ? Infinity : Date.parse(stored.expiresAt);
    const expiresAtMs = Math.min(nowMs + body.expiresInSeconds * 1000, endsAtMs);
    const text = await tokensOf(context.service.database).write({
      key: stored.id,
      generation: generationOf(principal.keySha256),
      sessions: await readSessions(body, principal, context),
      may: [...new Set(body.allow)],
      expiresAtMs,
    });
    return { status: 201, body: { token: text, expiresAt: new Date(expiresAtMs).toISOString() } };
  },
});

/** The sessions of the token, which the key has. Throws `Problem`, and `UnknownAgentError`. */
async function readSessions(
  { session, sessions = '' }: { session?: string; sessions?: string },
  { scope }: Principal,
  { config, reads }: ApiContext,
): Promise<string> {
  if (session !== undefined) {
    const key = parseSessionKey(session, 'session');
    if (!(await isSessionSeen(key, scope, reads))) throw notFound(`session ${key}`);
    agentOf(config, agentIdOf(key));
    return key;
  }
  const fault = faultOfPrefix(sessions);
  if (fault !== null) throw fieldProblem('sessions', fault);
  if (isInside(scope, sessions.slice(0, -1))) return sessions;
  throw fieldProblem(
    'sessions',
    `${JSON.stringify(sessions)} is more than the key sees. Begin with one of ${describeScope(scope)?.join(' or ')}`,
  );
}

export const routes: Route[] = [postToken];
