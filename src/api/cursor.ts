// Cursors of lists: opaque to clients, bound to the list and the filters that they were made for. A
// cursor contains only the position, so it never expires.
import { hash } from 'node:crypto';
import { isUuid } from '../core/ids.ts';
import type { Page, PageRequest } from '../database/page.ts';
import type { Answer } from './answer.ts';
import type { ApiContext } from './context.ts';
import { Problem } from './problem.ts';

const FINGERPRINT_CHARS = 8;
const CURSOR_CHARS_MAX = 1000;
/** The items of a page unless a request says how many. */
const ITEMS_DEFAULT = 50;

/** A list with these filters; the same for every page of it. */
export interface ListIdentity {
  path: string;
  filters: Record<string, unknown>;
}

interface ListRequest {
  list: ListIdentity;
  query: { limit?: number | undefined; cursor?: string | undefined };
}

/**
 * What a request asks for; a limit over `limits.pageItems` is lowered to it. Throws 400 for a
 * cursor of another list.
 */
export function parsePageRequest(
  { list, query }: ListRequest,
  { config }: Pick<ApiContext, 'config'>,
  { isKey = isUuid, itemsDefault = ITEMS_DEFAULT }: PageRules = {},
): PageRequest {
  const limit = Math.min(query.limit ?? itemsDefault, config.limits.pageItems);
  if (query.cursor === undefined) return { limit, after: null };
  const text = query.cursor.length <= CURSOR_CHARS_MAX ? Buffer.from(query.cursor, 'base64url').toString('utf8') : '';
  const after = text.slice(FINGERPRINT_CHARS);
  if (text.slice(0, FINGERPRINT_CHARS) !== fingerprintList(list) || !isKey(after)) {
    throw new Problem('invalid_query', 'The cursor is not from this list with these filters.', {
      errors: [{ path: 'cursor', message: 'expected the nextCursor of the same list' }],
    });
  }
  return { limit, after };
}

/**
 * How a list differs from most: their keys are ids, and they show 50 items unless asked for more.
 */
export interface PageRules {
  isKey?: (after: string) => boolean;
  itemsDefault?: number;
}

/** True for the number of an item as the key of a page. */
export function isItemNumber(text: string): boolean {
  return /^\d{1,9}$/.test(text);
}

/** The answer of a list: its page, with what it says of the whole list beside its items. */
export function listAnswer<Item>({ list }: Pick<ListRequest, 'list'>, { next, ...page }: Page<Item>): Answer {
  const nextCursor = next === null ? null : Buffer.from(fingerprintList(list) + next).toString('base64url');
  return { status: 200, body: { ...page, nextCursor } };
}

function fingerprintList(list: ListIdentity): string {
  const filters = Object.entries(list.filters).filter(([, value]) => value !== undefined);
  return hash('sha256', JSON.stringify([list.path, filters]), 'hex').slice(0, FINGERPRINT_CHARS);
}
