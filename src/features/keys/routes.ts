// API keys that are made while the service runs.
import { z } from 'zod';
import { makeApiKey, revokeApiKey } from './manage-keys.ts';
import { keys } from './views.ts';
import { conflict, fieldProblem, requireFound, notFound, Problem } from '../../api/problem.ts';
import { defineEffect, defineRoute, defineList, type Route } from '../../api/route.ts';
import * as schemas from '../../contract/keys.ts';
import { isAgent, type Config } from '../../config.ts';
import { ADMIN } from '../../core/key-role.ts';
import { rootsOf, type ScopeSettings } from '../../core/scope.ts';

const getKeys = defineList({
  operationId: 'listKeys',
  belongs: 'service',
  path: '/v1/keys',
  summary: 'API keys that were created through the API, newest first, including revoked keys',
  role: 'admin',
  shows: { description: 'A page of keys', item: schemas.apiKey },
  list: (_request, page, { context }) => keys.list(context.views, {}, page),
});

const postKey = defineEffect<'/v1/keys', { id: string; key?: string }, z.ZodType, typeof schemas.keyRequest>({
  operationId: 'createKey',
  belongs: 'service',
  path: '/v1/keys',
  summary: 'Create an API key. Only this answer contains the key',
  role: 'admin',
  body: schemas.keyRequest,
  answers: {
    201: { description: 'The key', schema: schemas.newKey },
    409: { description: 'There is a valid key with this name, or another key has replaced the same one' },
  },
  async perform({ body, principal, idempotency }, { context, services }) {
    const { name, role } = body;
    const expiresAt = body.expiresAt ?? null;
    if (expiresAt !== null && Date.parse(expiresAt) <= context.clock.now().getTime()) {
      throw new Problem(
        'invalid_body',
        'expiresAt: the time is in the past. Send a later time, or leave the field out.',
        {
          errors: [{ path: 'expiresAt', message: 'expected a time in the future' }],
        },
      );
    }
    if (name === ADMIN || context.config.api.keys.some((key) => key.name === name)) throw nameTaken(name);
    const { replaces = null, agents = null, sessions = null } = body;
    refuseEmptyScope({ agents, sessions }, context.config);
    const settings = { ...body.limits, name, role, agents, sessions, createdBy: principal.name, expiresAt, replaces };
    const made = await makeApiKey(context.service, settings, idempotency);
    switch (made) {
      case 'name_taken':
        throw nameTaken(name);
      case 'unknown':
        throw fieldProblem(
          'replaces',
          `no key has the name or the id ${JSON.stringify(replaces)}. ${LISTED}, and a key of the configuration can be replaced while it is there`,
        );
      case 'replaced':
        throw conflict(`Another key has replaced the key ${replaces} before. Replace that key instead: ${LISTED}.`);
      default:
        services.keys.forget();
        return made;
    }
  },
  async answer({ id, key }, _request, { context }) {
    const found = requireFound(await keys.find(context.views, id), `key ${id}`);
    return { status: 201, body: { ...found, key: null }, ...(key === undefined ? {} : { once: { key } }) };
  },
});

const LISTED = '"holdfast keys list" shows the created keys and which key each has replaced';

/** Throws `Problem` for agents that do not exist, and for sessions of none of the agents. */
function refuseEmptyScope(scope: ScopeSettings, config: Config): void {
  const { agents = [], sessions = [] } = scope;
  const named = [
    ...(agents ?? []).map((id, at) => ({ id, field: `agents[${at}]` })),
    ...(sessions ?? []).map((prefix, at) => ({ id: prefix.split(':')[1] ?? '', field: `sessions[${at}]` })),
  ];
  const unknown = named.find(({ id }) => !isAgent(config, id));
  if (unknown !== undefined) {
    const known = config.agents.list.map(({ id }) => id).join(', ');
    throw fieldProblem(unknown.field, `no agent has the id ${JSON.stringify(unknown.id)}. There are ${known}`);
  }
  if (rootsOf(scope)?.length === 0)
    throw fieldProblem('sessions', 'none of these sessions is one of these agents. Leave one of the two out');
}

function nameTaken(name: string): Problem {
  return conflict(`There is a valid API key with the name ${name}. Choose another name, or revoke that key first.`);
}

const deleteKey = defineRoute({
  operationId: 'revokeKey',
  belongs: 'service',
  method: 'DELETE',
  path: '/v1/keys/{id}',
  summary:
    'Revoke a key and sign out every browser that signed in with it; takes effect in all processes within a second',
  role: 'admin',
  answers: { 200: { description: 'The updated key', schema: schemas.apiKey } },
  async handle({ params: { id } }, { context, services }) {
    const isRevoked = await revokeApiKey(context.service.database, id);
    services.keys.forget();
    const found = isRevoked ? await keys.find(context.views, id) : null;
    if (found === null)
      throw notFound(
        `key ${id}. List the keys with "holdfast keys list"; remove a key of the configuration in the configuration`,
      );
    return { status: 200, body: found };
  },
});

export const routes: Route[] = [getKeys, postKey, deleteKey];
