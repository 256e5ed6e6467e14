// Lists as OpenAI's clients page through them (the next page is after the last id of this one), and
// the headers that their requests may have.
import { z } from 'zod';
import { fieldProblem } from '../../api/problem.ts';
import type { Route } from '../../api/route.ts';
import type { Page, PageRequest } from '../../database/page.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;

export const LIST_QUERY = z.strictObject({
  after: z.string().optional().describe('Only items after the one with this id: the last id of the previous page'),
  limit: z.string().optional().describe('The maximum number of items on a page'),
  order: z.literal('desc', { error: 'only desc is supported' }).optional().describe('Always `desc`: newest first'),
});

/** Which part a query asks for. Throws `Problem`. */
export function parseListPart(
  { after, limit }: { after?: string | undefined; limit?: string | undefined },
  idOf: (text: string) => string | null,
): PageRequest {
  const count = limit === undefined ? LIMIT_DEFAULT : Number(limit);
  if (!/^[1-9]\d{0,8}$/.test(limit ?? '1')) throw fieldProblem('limit', 'expected a whole number from 1 to 999999999');
  const id = after === undefined ? null : idOf(after);
  if (after !== undefined && id === null) throw fieldProblem('after', 'expected the last id of the page before');
  return { after: id, limit: Math.min(count, LIMIT_MAX) };
}

/** A page, as their clients read it. */
export function buildList<Item>(
  { items, next }: Page<Item>,
  shown: (item: Item) => object,
  idOf: (item: Item) => string,
): object {
  const [first, last] = [items[0], items.at(-1)];
  return {
    object: 'list',
    data: items.map(shown),
    first_id: first === undefined ? null : idOf(first),
    last_id: last === undefined ? null : idOf(last),
    has_more: next !== null,
  };
}

/** Routes under /v1, and the same under /openai/v1, where clients expect the paths of OpenAI. */
export function atBothPlaces(routes: readonly Route[]): Route[] {
  const others = routes.map((route) => ({
    ...route,
    path: `/openai${route.path}`,
    operationId: `${route.operationId}ForClients`,
  }));
  return [...routes, ...others];
}

export const answerCallHeaders = {
  'x-holdfast-session-key': 'The session that the message is for',
  'x-holdfast-agent-id': 'The agent of a request whose model names none',
  'x-holdfast-history':
    'server: the stored history counts; fork: the history of the request counts, in a copy of the session',
  'x-holdfast-on-disconnect': 'continue: the turn ends without the client; abort: it stops when the client leaves',
};
