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
  /** Something of the whole service. */
  | 'service'
  /** Why something waits: `Why`. */
  | 'why'
  /** Failed work: `DeadLetterView`. */
  | 'letter';

export const guarded = z.registry<{ as: Guarded }>();

/** A field of the whole service, such as a setting; null for callers with a scope. */
export function ofService<Field extends z.ZodType>(field: Field, description: string) {
  const hidden = field.nullable().describe(`${description}; null: hidden from a key with a scope`);
  guarded.add(hidden, { as: 'service' });
  return hidden;
}

/** The name of a principal or a process; null for callers with a scope, unless it is their own. */
export function guardedName(description: string) {
  return z.string().nullable().describe(`${description}; null: hidden from a key with a scope`).register(guarded, {
    as: 'name',
  });
}
