// Cursors of lists: opaque to clients, bound to the list and the filters that they were made for. A cursor contains only the
// position, so it never expires.
import { hash } from 'node:crypto';
import type { Page, PageRequest } from '../store/views/page.ts';
import { Problem } from './problem.ts';

const FINGERPRINT_CHARS = 8;
const CURSOR_CHARS_MAX = 1000;

/** A list with these filters; the same for every page of it. */
export interface ListIdentity {
  path: string;
  filters: Record<string, unknown>;
}

/** What `limit` and `cursor` of a query ask for; a limit over `itemsMax` is lowered to it. Throws 400 for a foreign cursor. */
export function pageRequestOf(
  list: ListIdentity,
  query: { limit?: number | undefined; cursor?: string | undefined },
  bounds: { itemsDefault: number; itemsMax: number; isKey: (after: string) => boolean },
): PageRequest {
  const limit = Math.min(query.limit ?? bounds.itemsDefault, bounds.itemsMax);
  if (query.cursor === undefined) return { limit, after: null };
  const text = query.cursor.length <= CURSOR_CHARS_MAX ? Buffer.from(query.cursor, 'base64url').toString('utf8') : '';
  const after = text.slice(FINGERPRINT_CHARS);
  if (text.slice(0, FINGERPRINT_CHARS) !== fingerprintOf(list) || !bounds.isKey(after)) {
    throw new Problem('invalid_query', 'The cursor is not from this list with these filters.', {
      errors: [{ path: 'cursor', message: 'expected the nextCursor of the same list' }],
    });
  }
  return { limit, after };
}

/** The answer of a list. */
export function listAnswer<Item>(list: ListIdentity, page: Page<Item>): { items: Item[]; nextCursor: string | null } {
  const nextCursor = page.next === null ? null : Buffer.from(fingerprintOf(list) + page.next).toString('base64url');
  return { items: page.items, nextCursor };
}

function fingerprintOf(list: ListIdentity): string {
  const filters = Object.entries(list.filters).filter(([, value]) => value !== undefined);
  return hash('sha256', JSON.stringify([list.path, filters]), 'hex').slice(0, FINGERPRINT_CHARS);
}
