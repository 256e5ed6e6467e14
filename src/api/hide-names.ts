// Takes out of an answer the names that a caller with a scope may not know: of principals and
// processes other than itself, and of sessions outside. Which fields these are is said by the schema
// of the answer (src/contract/guarded.ts).
import { z } from 'zod';
import { guarded } from '../contract/guarded.ts';
import { isInside } from '../core/scope.ts';
import type { ViewDatabase } from '../database/page.ts';
import { findRootsOf } from '../kernel/views/scope.ts';
import type { Principal } from './key-ring.ts';

type Caller = Pick<Principal, 'name' | 'scope'>;

type Mark = NonNullable<ReturnType<typeof guarded.get>>['as'];

/** Makes the value that is shown of a guarded one. */
type Change = (value: unknown, mark: Mark) => unknown;

/** The answer as the caller may see it. */
export async function hideOutside(
  schema: z.ZodType | undefined,
  answer: unknown,
  caller: Caller,
  db: ViewDatabase,
): Promise<unknown> {
  const { scope } = caller;
  if (scope === null || schema === undefined || !isGuarded(schema)) return answer;
  const named = new Set<string>();
  changeGuarded(schema, answer, (value, mark) => {
    const key = keyIn(value, mark);
    if (key !== null) named.add(key);
    return value;
  });
  const roots = named.size === 0 ? new Map<string, string>() : await findRootsOf(db, [...named]);
  return hideNames(schema, answer, caller, (key) => isInside(scope, roots.get(key) ?? key));
}

/** The same of an answer that names no other sessions than those for which `isSeen` is true. */
export function hideNames(
  schema: z.ZodType,
  answer: unknown,
  { name }: Caller,
  isSeen: (sessionKey: string) => boolean,
): unknown {
  return changeGuarded(schema, answer, (value, mark) => {
    switch (mark) {
      case 'name':
        // Messages have the name of a key by itself.
        return value === name || `key:${String(value)}` === name ? value : null;
      case 'other':
        return null;
      case 'author':
        return typeof value === 'string' && isPrincipal(value) && value !== name ? null : value;
      case 'session':
      case 'origin': {
        const key = keyIn(value, mark);
        if (key === null || isSeen(key)) return value;
        return mark === 'session' ? null : 'session';
      }
      case 'why':
        return hideIn(value as { by: string | null; text: string }, name);
      case 'span':
        return (value as { kind: string }).kind === 'worker.lost' ? { ...(value as object), name: 'worker' } : value;
      default:
        return mark satisfies never;
    }
  });
}

const KEY_NAME = /\bkey:[\w.@-]+/g;

/** The text of a pause begins with the name of who has paused, and that of a budget may have one. */
function hideIn<Why extends { by: string | null; text: string }>({ by, text, ...why }: Why, name: string) {
  const isAdmin = by === 'admin' && text.startsWith(by) && by !== name;
  const shown = isAdmin ? `Another caller${text.slice(by.length)}` : text;
  const hidden = shown.replaceAll(KEY_NAME, (found) => (found === name ? found : 'another key'));
  return { ...why, by: by === name ? by : null, text: hidden };
}

function isPrincipal(name: string): boolean {
  return name === 'admin' || name.startsWith('key:');
}

/** The session that a guarded value names. */
function keyIn(value: unknown, mark: Mark): string | null {
  if (typeof value !== 'string') return null;
  if (mark === 'session') return value;
  return mark === 'origin' && value.startsWith('session:') ? value.slice('session:'.length) : null;
}

/** The parts of a schema, by the kinds that answers are made of. */
type Parts = {
  type: string;
  shape?: Record<string, z.ZodType>;
  element?: z.ZodType;
  valueType?: z.ZodType;
  innerType?: z.ZodType;
  options?: readonly z.ZodType[];
  getter?: () => z.ZodType;
  in?: z.ZodType;
  left?: z.ZodType;
  right?: z.ZodType;
};

function partsOf(schema: z.ZodType): Parts {
  return schema._zod.def as unknown as Parts;
}

/** Whether a schema has a guarded field; one that contains itself is asked once. */
const known = new WeakMap<z.ZodType, boolean>();

function isGuarded(schema: z.ZodType): boolean {
  const before = known.get(schema);
  if (before !== undefined) return before;
  known.set(schema, false);
  const { shape = {}, options = [], element, valueType, innerType, getter, in: input, left, right } = partsOf(schema);
  const parts = [...Object.values(shape), ...options, element, valueType, innerType, getter?.(), input, left, right];
  // `get` also knows a schema that only has another description.
  const found = guarded.get(schema) !== undefined || parts.some((part) => part !== undefined && isGuarded(part));
  known.set(schema, found);
  return found;
}

function changeGuarded(schema: z.ZodType, value: unknown, change: Change): unknown {
  if (value === null || value === undefined || !isGuarded(schema)) return value;
  const mark = guarded.get(schema)?.as;
  if (mark !== undefined) return change(value, mark);
  const { shape, options, element, valueType, innerType, getter, in: input, left, right } = partsOf(schema);
  const inner = innerType ?? getter?.() ?? input;
  if (inner !== undefined) return changeGuarded(inner, value, change);
  if (options !== undefined) return changeOption(options, value, change);
  if (left !== undefined && right !== undefined)
    return changeGuarded(right, changeGuarded(left, value, change), change);
  if (Array.isArray(value)) {
    return element === undefined ? value : value.map((item) => changeGuarded(element, item, change));
  }
  if (typeof value !== 'object') return value;
  const changed: Record<string, unknown> = { ...value };
  for (const [name, field] of Object.entries(changed)) {
    const part = shape === undefined ? valueType : shape[name];
    if (part !== undefined) changed[name] = changeGuarded(part, field, change);
  }
  return changed;
}

/** By the first option that the value fits; one that fits none is changed by all of them. */
function changeOption(options: readonly z.ZodType[], value: unknown, change: Change): unknown {
  const fitting = options.find((option) => option.safeParse(value).success);
  const wanted = fitting === undefined ? options : [fitting];
  return wanted.reduce((changed, option) => changeGuarded(option, changed, change), value);
}
