// Makes a tree of plain data without cycles unchangeable, so that it can be shared without copies.

/** Freezes plain objects and arrays all the way down and returns the same value. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}
