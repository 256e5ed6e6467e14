// JSON for people to read.

/**
 * Deeper values are shown without indentation, which would make their text grow with the square of
 * their depth.
 */
const DEPTH_INDENTED = 100;

/** The JSON of a value, indented unless it is very deep. */
export function jsonText(value: unknown): string {
  const plain = JSON.stringify(value) ?? '';
  return depthOf(plain) > DEPTH_INDENTED ? plain : JSON.stringify(value, null, 2);
}

const { rawJSON: rawJson, isRawJSON: isRawJson } = JSON as {
  rawJSON?: (text: string) => object;
  isRawJSON?: (value: unknown) => boolean;
};

/** Whether a value is an integer that is kept as it was written. */
export function isWrittenNumber(value: unknown): boolean {
  return isRawJson?.(value) === true;
}

/**
 * The value of a JSON text, whose JSON has every digit again: an integer that a number would round
 * is kept as it was written. Browsers that cannot do so round it.
 */
export function parseKeepingIntegers(text: string): unknown {
  if (rawJson === undefined || !/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value;
    return /^-?\d+$/.test(source) && String(value) !== source ? rawJson(source) : value;
  });
}

/** The depth of a JSON text, at least: brackets within its strings count, too. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
