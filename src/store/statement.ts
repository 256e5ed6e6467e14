// Statements that are put together from parts: the values they bind, and their names as prepared statements.

/** The columns of a statement under construction, each an array that the statement unnests. */
export class Values {
  readonly list: unknown[][] = [];

  /** Adds a column, one value per row, and returns its placeholder with the cast, e.g. `$3::uuid[]`. */
  add<Row>(type: string, rows: readonly Row[], pick: (row: Row, index: number) => unknown): string {
    this.list.push(rows.map(pick));
    return `$${this.list.length}::${type}[]`;
  }
}

const names = new Map<string, string>();

/** A prepared statement: equal texts have equal names, so that a connection plans each of them once. */
export function prepared(
  kind: string,
  text: string,
  values: unknown[],
): { name: string; text: string; values: unknown[] } {
  let name = names.get(text);
  if (name === undefined) names.set(text, (name = `${kind}-${names.size}`));
  return { name, text, values };
}
