// Ids grow with time: their first 48 bits are the milliseconds of it. So a span of time is a span of the primary key.

/** SQL of the least id that is made at a time. */
export function idOfTimeSql(time: string): string {
  return `(lpad(to_hex((extract(epoch from ${time}) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid`;
}

/** The least id that is made at this time. */
export function idAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`;
}
