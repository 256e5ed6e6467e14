// Query parameters that several routes share. Values are text in a URL; `VALUES` has their types
// for the document.
import { z } from 'zod';
import type { Tags } from '../core/input-options.ts';
import { describeChoices } from '../config/config-error.ts';
import { uuid } from './fields.ts';

const CURSOR_CHARS_MAX = 1000;

/**
 * The schema of the value that the text of a parameter stands for. Not in the schema itself, which
 * bodies use, too.
 */
export const VALUES = z.registry<Record<string, unknown>>();

/** A positive whole number in a query, where everything is text. */
export const countText = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'expected a whole number from 1 to 999999999')
  .transform(Number)
  .register(VALUES, { type: 'integer', minimum: 1, maximum: 999_999_999 });

/** A whole number in a query. */
export const offsetText = z
  .string()
  .regex(/^\d{1,9}$/, 'expected a whole number from 0 to 999999999')
  .transform(Number)
  .register(VALUES, { type: 'integer', minimum: 0, maximum: 999_999_999 });

/** `limit` and `cursor` of every list. */
export const pageQuery = {
  limit: countText.optional().describe('The maximum number of items on a page'),
  cursor: z.string().max(CURSOR_CHARS_MAX).optional().describe('The `nextCursor` of the previous page'),
};

/** One or more of these values, separated by commas. */
export function listText<const Values extends readonly string[]>(values: Values) {
  const allowed: ReadonlySet<string> = new Set(values);
  return z
    .string()
    .refine((text) => text.split(',').every((value) => allowed.has(value)), {
      error: ({ input }) => {
        const unknown = String(input)
          .split(',')
          .find((value) => !allowed.has(value));
        return `is ${JSON.stringify(input)}; allowed: one or more, separated by commas, of ${describeChoices(unknown, values)}`;
      },
    })
    .transform((text) => text.split(','))
    .register(VALUES, { type: 'array', items: { type: 'string', enum: values } });
}

/** A session key in a query, as it came. */
export const sessionKeyText = z.string().min(1).max(1000);

/** A name or an id in a query. */
export const nameText = z.string().min(1).max(200);

export const searchText = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .describe(
    'An id or its last 6 to 12 digits, a session key, the platform id of a message, an error code, or a part of a session key',
  );

/** A number of dollars in a query, where everything is text. */
export const dollarsText = z
  .string()
  .regex(/^\d{1,9}(?:\.\d{1,6})?$/, 'expected dollars with at most 6 decimals, such as 0.25')
  .transform(Number)
  .register(VALUES, { type: 'number', minimum: 0 });

const IDS_MAX = 200;

/** Ids, separated by commas. */
export const idsText = z
  .string()
  .refine((text) => text.split(',').length <= IDS_MAX, { error: `expected at most ${IDS_MAX} ids` })
  .refine((text) => text.split(',').every((id) => uuid.safeParse(id).success), {
    error: 'expected UUIDs, separated by commas',
  })
  .transform((text) => text.toLowerCase().split(','))
  .register(VALUES, { type: 'array', items: { type: 'string', format: 'uuid' }, maxItems: IDS_MAX });

/** A tag as `key:value`; the value may have colons, too. */
export const tagText = z
  .string()
  .max(600)
  .regex(/^[^:]+:/, 'expected the key of a tag, a colon and its value, such as customer:42')
  .transform((text): Tags => ({ [text.slice(0, text.indexOf(':'))]: text.slice(text.indexOf(':') + 1) }))
  .register(VALUES, { type: 'string' });
