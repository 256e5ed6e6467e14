// Fields that name something which a caller with a scope may not know of. An answer to such a caller
// is changed along its schema (src/api/hide-names.ts), never by the names of its fields: what tools
// and people say may have fields of the same names.
import { z } from 'zod';

/** What a field names, or holds. */
type Guarded =
  /** A principal or a process. */
  | 'name'
  /** A person, or the name of a key. */
  | 'author'
  /** A session, by its key. */
  | 'session'
  /** Whose words a part has: `session:<key>`, or another word. */
  | 'origin'
  /** What another session has said of itself. */
  | 'other'
  /** Why something waits: `Why`. */
  | 'why'
  /** A part of the time of a turn: `SpanView`. */
  | 'span';

export const guarded = z.registry<{ as: Guarded }>();

/** The name of a principal or a process; null for callers with a scope, unless it is their own. */
export function guardedName(description: string) {
  return z.string().nullable().describe(`${description}; null: hidden from a key with a scope`).register(guarded, {
    as: 'name',
  });
}
