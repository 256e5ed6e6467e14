// Takes out of an answer the names that a caller with a scope may not know: of principals and
// processes other than itself, and of sessions outside. Which fields these are is said by the schema
// of the answer (src/contract/guarded.ts).
import { z } from 'zod';
import { guarded } from '../contract/guarded.ts';
import { isUuid } from '../core/ids.ts';
import { isOtherCaller } from '../core/key-role.ts';
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
      case 'service':
        return null;
      case 'author':
        return typeof value === 'string' && isOtherCaller(value, name) ? null : value;
      case 'session':
      case 'origin': {
        const key = keyIn(value, mark);
        if (key === null || isSeen(key)) return value;
        return mark === 'session' ? null : 'session';
      }
      case 'why':
        return hideCause(value as Cause, name);
      case 'letter':
        return (value as { kind: string }).kind === 'delivery'
          ? { ...(value as object), reason: NOT_DELIVERED }
          : value;
      default:
        return mark satisfies never;
    }
  });
}

const KEY_NAME = /\bkey:[\w.@-]+/g;

/** An error of a receiver may have an address within the operator's network. */
const NOT_DELIVERED = 'The receiver has not accepted it.';

/** Causes whose texts say what others have written, by their codes. */
const CAUSES: Record<string, string> = {
  paused: 'A key for the whole service has paused it.',
  delivery_retried: NOT_DELIVERED,
};

interface Cause {
  code: string;
  by: string | null;
  text: string;
}

/** It may be by a call or a turn of the session; a text about a budget may name a key. */
function hideCause({ code, by, text, ...why }: Cause, name: string): Cause {
  const isOwn = code === 'external_tool' || (by !== null && isUuid(by));
  const shown = CAUSES[code] ?? text.replaceAll(KEY_NAME, (found) => (found === name ? found : 'another key'));
  return { ...why, code, by: isOwn ? by : null, text: shown };
}

/** The session that a guarded value names. */
function keyIn(value: unknown, mark: Mark): string | null {
  if (typeof value !== 'string') return null;
  if (mark === 'session') return value;
  return mark === 'origin' && value.startsWith('session:') ? value.slice('session:'.length) : null;
}

/** The parts of a schema, by the kinds that answers are made of; a test knows that there are no others. */
type Parts = {
  shape?: Record<string, z.ZodType>;
  element?: z.ZodType;
  valueType?: z.ZodType;
  innerType?: z.ZodType;
  options?: readonly z.ZodType[];
  values?: readonly unknown[];
};

function partsOf(schema: z.ZodType): Parts {
  return schema._zod.def as unknown as Parts;
}

/** Whether a schema has a guarded field. No schema contains itself. */
const known = new WeakMap<z.ZodType, boolean>();

function isGuarded(schema: z.ZodType): boolean {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const { shape = {}, options = [], element, valueType, innerType } = partsOf(schema);
  const parts = [...Object.values(shape), ...options, element, valueType, innerType];
  // `get` also knows a schema that only has another description.
  const found = guarded.get(schema) !== undefined || parts.some((part) => part !== undefined && isGuarded(part));
  known.set(schema, found);
  return found;
}

function changeGuarded(schema: z.ZodType, value: unknown, change: Change): unknown {
  if (value === null || value === undefined || !isGuarded(schema)) return value;
  const mark = guarded.get(schema)?.as;
  if (mark !== undefined) return change(value, mark);
  const { shape, options, element, valueType, innerType } = partsOf(schema);
  if (innerType !== undefined) return changeGuarded(innerType, value, change);
  if (options !== undefined) return changeOption(options, value, change);
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

/**
 * By the option of the value's type, or the first that the value fits; one that fits none is
 * changed by all of them.
 */
function changeOption(options: readonly z.ZodType[], value: unknown, change: Change): unknown {
  const { type } = value as { type?: unknown };
  const ofType = options.filter((option) => type !== undefined && typeOf(option) === type);
  const fitting = ofType.length === 1 ? ofType[0] : options.find((option) => option.safeParse(value).success);
  const wanted = fitting === undefined ? options : [fitting];
  return wanted.reduce((changed, option) => changeGuarded(option, changed, change), value);
}

/** The only type that values of a schema have. */
function typeOf(schema: z.ZodType): unknown {
  const type = partsOf(schema).shape?.['type'];
  return type && partsOf(type).values?.[0];
}
