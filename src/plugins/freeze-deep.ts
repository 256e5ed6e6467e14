// Freezes what plugins are shown of a turn: the messages are the very objects that are sent, so a change would be one of the transcript
// that nobody stored. Messages stay the same objects from turn to turn, and what was frozen once is not looked at again.

const frozen = new WeakSet<object>();

/** The value itself, with everything in it frozen. For plain data without cycles. */
export function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || frozen.has(value)) return value;
  frozen.add(value);
  Object.freeze(value);
  for (const inner of Object.values(value)) freezeDeep(inner);
  return value;
}
