// Changes the texts in a value of JSON.

/** Deeper than this nothing is changed: such values do not occur. */
const DEPTH_MAX = 1000;

/** The value with every text in it changed, keys too; the same object when no text is. */
export function changeTexts(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => changeTexts(item, change, depth + 1));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  const before = Object.entries(value);
  const after = before.map(([key, item]): [string, unknown] => [change(key), changeTexts(item, change, depth + 1)]);
  const isSame = after.every(([key, item], at) => key === before[at]?.[0] && item === before[at]?.[1]);
  return isSame ? value : Object.fromEntries(after);
}
