// Statements that are put together from parts: the values they bind, and their names as prepared statements.

/** The type of a column; values of `json` are texts of JSON, and times are dates. */
type ColumnType = 'bigint' | 'boolean' | 'int' | 'json' | 'text' | 'timestamptz' | 'uuid';

/** A column of a table: its type, and its value in a row. */
export type SqlColumn<Row> = [type: ColumnType, pick: (row: Row, index: number) => unknown];

/** The values of a statement under construction. */
export class Values {
  readonly list: unknown[] = [];

  /** Adds an array, one value per row, and returns its placeholder with the cast, e.g. `$3::uuid[]`. */
  array<Row>(type: ColumnType, rows: readonly Row[], pick: (row: Row, index: number) => unknown): string {
    this.list.push(rows.map(pick));
    return `$${this.list.length}::${type}[]`;
  }

  /**
   * Adds rows as one value and returns the SQL of a table of them, with these columns. Beside one array per column, which the server
   * unnests one by one, this costs a third with one row and the same with twenty. A NUL in a text is an error of the statement, as it
   * is everywhere in PostgreSQL; half a surrogate pair becomes U+FFFD.
   */
  table<Row>(alias: string, rows: readonly Row[], columns: Record<string, SqlColumn<Row>>): string {
    const shape = Object.entries(columns);
    this.list.push(toJson(rows.map((row, index) => recordOf(shape, row, index))));
    const types = shape.map(([name, [type]]) => `${name} ${type === 'json' ? 'text' : type}`).join(', ');
    const source = `json_to_recordset($${this.list.length}::json)`;
    if (shape.every(([, [type]]) => type !== 'json')) return `${source} as ${alias} (${types})`;
    // JSON goes as a text, so that values that are valid only in JSON, such as \u0000, are not interpreted in transit.
    const list = shape.map(([name, [type]]) => (type === 'json' ? `${name}::json` : name)).join(', ');
    return `(select ${list} from ${source} as records (${types})) as ${alias}`;
  }
}

function recordOf<Row>(shape: [string, SqlColumn<Row>][], row: Row, index: number): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const [name, [, pick]] of shape) record[name] = pick(row, index);
  return record;
}

/** Half of a surrogate pair, which PostgreSQL refuses; or the same letters as text. */
const LONE_SURROGATE = /\\ud[89a-f]/;

function toJson(records: object[]): string {
  const text = JSON.stringify(records);
  if (!LONE_SURROGATE.test(text)) return text;
  return JSON.stringify(records, (_, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value));
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
