// Cutting text at a number of UTF-16 units without tearing a surrogate pair: half a pair is not valid in a model request.

/** The first units of a text, at most `units`. */
export function headOf(text: string, units: number): string {
  if (units <= 0) return '';
  if (text.length <= units) return text;
  return text.slice(0, isHighSurrogate(text.charCodeAt(units - 1)) ? units - 1 : units);
}

/** The last units of a text, at most `units`. */
export function tailOf(text: string, units: number): string {
  if (units <= 0) return '';
  if (text.length <= units) return text;
  const start = text.length - units;
  return text.slice(isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
