// Lays settings over others.
import { isObject } from '../core/is-object.ts';

/**
 * A copy of `base` with `over` laid on it: objects key by key, everything else as a whole. Absent and undefined leave what is
 * there. Neither argument is changed.
 */
export function mergeOver<Base>(base: Base, over: unknown): Base {
  if (over === undefined) return structuredClone(base);
  if (!isObject(base) || !isObject(over)) return structuredClone(over) as Base;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (key === '__proto__') continue;
    merged[key] = mergeOver(Object.hasOwn(merged, key) ? merged[key] : undefined, value);
  }
  return merged as Base;
}
