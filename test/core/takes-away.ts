// What the SQL of a migration takes away from running code.
const TAKES_AWAY =
  /\bdrop (?:table|column|function|view)\b|\brename\b|\balter (?:column )?\w+ (?:set data )?type\b|\bset not null\b/i;

/**
 * True when older code may fail on the layout after it: it drops or renames what code reads,
 * changes a type, or demands a value.
 */
export function takesAway(sql: string): boolean {
  return TAKES_AWAY.test(sql.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' '));
}
