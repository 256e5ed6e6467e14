// JSON as a model wrote it. JavaScript rounds integers past 2^53, and a rounded id is the id of something else: such an integer becomes a text
// with the same digits. A tool whose schema does not take a text refuses it, and the model gets that as the result of its call.

/** An integer that may be rounded has at least so many digits. */
const LONG_INTEGER = /\d{16}/;

/** The value of a JSON text, with every digit of its integers. Throws `SyntaxError`. */
export function parseExactly(text: string): unknown {
  return LONG_INTEGER.test(text) ? JSON.parse(text, exactValue) : JSON.parse(text);
}

function exactValue(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value;
  if (!/^-?\d+$/.test(source)) return value;
  return Number.isFinite(value) && String(BigInt(value)) === source ? value : source;
}
