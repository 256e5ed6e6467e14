// JSON for people to read.

/** Deeper values are shown without indentation, which would make their text grow with the square of their depth. */
const DEPTH_INDENTED = 100;

/** The JSON of a value, indented unless it is very deep. */
export function jsonText(value: unknown): string {
  const plain = JSON.stringify(value) ?? '';
  return depthOf(plain) > DEPTH_INDENTED ? plain : JSON.stringify(value, null, 2);
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
