// Cutting text at a number of UTF-16 units without tearing a surrogate pair: half a pair is not valid in a model request. Texts are cut here
// and nowhere else (test/architecture.test.ts).

/** The first units of a text, at most `units`. */
export function cutHead(text: string, units: number): string {
  if (units <= 0) return '';
  if (text.length <= units) return text;
  return text.slice(0, isHighSurrogate(text.charCodeAt(units - 1)) ? units - 1 : units);
}

/** The last units of a text, at most `units`. */
export function cutTail(text: string, units: number): string {
  if (units <= 0) return '';
  if (text.length <= units) return text;
  const start = text.length - units;
  return text.slice(isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start);
}

/** A piece of a text: `length` units from `offset`, with the whole of a pair that the end would tear. */
export function cutPiece(text: string, offset: number, length: number): string {
  return text.slice(wholePairEnd(text, offset), wholePairEnd(text, offset + length));
}

function wholePairEnd(text: string, at: number): number {
  return at > 0 && at < text.length && cutHead(text, at).length < at ? at + 1 : at;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
