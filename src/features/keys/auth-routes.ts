// Sign-in of browsers. A browser keeps a cookie that scripts cannot read; a key is sent once, and
// is in no address.
import { z } from 'zod';
import { recordChange } from '../../kernel/use-cases/record-change.ts';
import { areListsComplete } from './views.ts';
import { makeCode, endWebSessions, signIn, useCode, WEB_SESSION_MS } from './manage-keys.ts';
import { describeScope } from '../../core/scope.ts';
import type { ApiContext } from '../../api/context.ts';
import { cookieName, type Principal } from '../../api/key-ring.ts';
import { notFound, Problem } from '../../api/problem.ts';
import { defineEffect, defineRoute, defineRead, type Route } from '../../api/route.ts';
import * as schemas from '../../contract/keys.ts';
import type { ApiServices } from '../../api/services.ts';
import { wrongKey } from '../../api/attempts.ts';

const NO_CONTENT = { description: 'Done; the answer has no body' };

const postSession = defineRoute({
  operationId: 'signIn',
  belongs: 'public',
  method: 'POST',
  path: '/v1/auth/sessions',
  summary: 'Sign a browser in with an API key or a single-use code; sets a cookie',
  isPublic: true,
  body: schemas.signInRequest,
  answers: {
    204: NO_CONTENT,
    401: { description: 'The key or the code is not valid' },
    429: { description: 'This address has sent too many wrong keys' },
  },
  async handle({ body, reply }, { context, services }) {
    const { request } = reply;
    const principal = await identifyPrincipal(body, context, services);
    if (principal === null) throw wrongKey(services.attempts, request.ip, wrongProof(body));
    const change = {
      principal: principal.name,
      role: principal.role,
      sees: describeScope(principal.scope),
      action: 'signIn',
      target: '/v1/auth/sessions',
      reason: null,
      requestId: request.id,
    };
    const cookie = await recordChange(context.service, change, {
      perform: () => signIn(context.service, principal.keySha256),
      endOf: (ended) => ({ outcome: 'error' in ended ? 'internal' : 'ok', made: null }),
    });
    const headers = { 'set-cookie': cookieText(context, cookieName(request), cookie, WEB_SESSION_MS) };
    return { status: 204, body: undefined, headers };
  },
});

async function identifyPrincipal(
  { key, code }: z.output<typeof schemas.signInRequest>,
  { service }: ApiContext,
  { keys }: ApiServices,
): Promise<Principal | null> {
  if (key !== undefined) return keys.find(key);
  if (code === undefined) return null;
  const keySha256 = await useCode(service, code);
  return keySha256 === null ? null : keys.findStored(keySha256);
}

function wrongProof({ key }: z.output<typeof schemas.signInRequest>): Problem {
  if (key !== undefined) return new Problem('unauthorized', 'The API key is not valid. Check that it is complete.');
  return new Problem(
    'unauthorized',
    'The code is not valid: it was already used, or is older than a minute. Run "holdfast open" again.',
  );
}

/** The cookie of a sign-in; with `lastsMs` 0 the browser deletes it. */
function cookieText({ config }: ApiContext, name: string, value: string, lastsMs: number): string {
  const isTls = config.api.publicUrl?.startsWith('https:') === true;
  return `${name}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${lastsMs / 1000}${isTls ? '; Secure' : ''}`;
}

const getSession = defineRead({
  operationId: 'getSignIn',
  belongs: 'self',
  path: '/v1/auth/sessions/current',
  summary: 'Who is signed in, and when the sign-in expires',
  shows: { description: 'The sign-in, or the key', schema: schemas.signIn },
  async read({ principal: { name, role, scope }, reply }, { context }) {
    const session = reply.request.identity?.session ?? null;
    const listsComplete = scope === null || (await areListsComplete(context.views, scope));
    return { principal: name, role, sees: describeScope(scope), listsComplete, expiresAt: session?.expiresAt ?? null };
  },
});

const deleteSession = defineRoute({
  operationId: 'signOut',
  belongs: 'self',
  method: 'DELETE',
  path: '/v1/auth/sessions/current',
  summary: 'Sign out',
  role: 'viewer',
  query: z.strictObject({
    all: z.enum(['true', 'false']).optional().describe('True: sign out every browser that signed in with the same key'),
  }),
  answers: { 204: NO_CONTENT, 404: { description: 'The request was sent with a key, so there is no sign-in to end' } },
  async handle({ principal, query, reply }, { context, services }) {
    const { request } = reply;
    const session = request.identity?.session ?? null;
    if (query.all === 'true') await endWebSessions(context.service.database, { keySha256: principal.keySha256 });
    else if (session === null)
      throw notFound(
        'sign-in to end: the request was sent with a key. Send ?all=true to sign out every browser that signed in with the key',
      );
    else await endWebSessions(context.service.database, { id: session.id });
    services.keys.forget();
    return { status: 204, body: undefined, headers: { 'set-cookie': cookieText(context, cookieName(request), '', 0) } };
  },
});

const postCode = defineEffect<'/v1/auth/codes', { code?: string; expiresAt: string }>({
  operationId: 'createSignInCode',
  belongs: 'self',
  path: '/v1/auth/codes',
  summary: 'Create a single-use code that signs a browser in with the key of this request; it expires after a minute',
  role: 'viewer',
  answers: { 201: { description: 'The code', schema: schemas.signInCode } },
  async perform({ principal, idempotency }, { context }) {
    return makeCode(context.service, principal.keySha256, idempotency);
  },
  // The stored result of an earlier request has no code.
  answer: async ({ code, expiresAt }) => ({
    status: 201,
    body: { code: null, expiresAt: new Date(expiresAt).toISOString() },
    ...(code === undefined ? {} : { once: { code } }),
  }),
});

export const routes: Route[] = [postSession, getSession, deleteSession, postCode];
