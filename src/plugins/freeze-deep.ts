// Freezes the values of a turn that plugins see: the messages are the objects that are sent, so a change to one would change the
// transcript without being stored.

/** The value itself, with everything in it frozen. For plain data without cycles. */
export function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freezeDeep(inner);
  return value;
}
