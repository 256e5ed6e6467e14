// Bindings: which agent gets the messages of a chat, and why.
import { fieldProblem, type Problem } from '../../api/problem.ts';
import { defineRead, type Route } from '../../api/route.ts';
import type { Config } from '../../config.ts';
import { bindings, boundAgent, explainQuery } from '../../contract/bindings.ts';
import { findBinding, listBindings } from './rules/bindings.ts';

const getBindings = defineRead({
  operationId: 'listBindings',
  belongs: 'service',
  path: '/v1/bindings',
  summary: 'Which chats are bound to which agents',
  shows: { description: 'The bindings', schema: bindings },
  read: async (_request, { context: { config } }) => listBindings(config),
});

const explainBinding = defineRead({
  operationId: 'explainBinding',
  belongs: 'service',
  path: '/v1/bindings/explain',
  summary: 'Which agent gets the messages of a chat, and by which binding',
  query: explainQuery,
  shows: { description: 'The agent, with all bindings that match', schema: boundAgent },
  async read({ query }, { context: { config } }) {
    refuseUnknown(config, query);
    return findBinding(config, query);
  },
});

/** A misspelt name would be explained as a chat that no binding matches. */
function refuseUnknown(
  { channels: { platforms } }: Config,
  { channel, accountId }: { channel: string; accountId?: string },
): void {
  if (!Object.hasOwn(platforms, channel)) throw unknown('channel', channel, Object.keys(platforms));
  const accounts = Object.keys(platforms[channel]?.accounts ?? {});
  if (accountId !== undefined && !accounts.includes(accountId)) throw unknown('accountId', accountId, accounts);
}

function unknown(field: string, value: string, known: readonly string[]): Problem {
  const names = known.length === 0 ? 'the configuration has none' : `expected one of ${known.join(', ')}`;
  return fieldProblem(field, `${JSON.stringify(value)} is not in the configuration; ${names}`, 'invalid_query');
}

export const routes: Route[] = [getBindings, explainBinding];
