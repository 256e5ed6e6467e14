// Rows as one value of a statement: a JSON text, which `json_to_recordset` reads (docs/decisions/0027).

/** SQL of a JSON object, from the names of its fields and the SQL of each. */
export function jsonObjectSql(fields: Readonly<Record<string, string>>): string {
  return `json_build_object(${Object.entries(fields)
    .map(([name, sql]) => `'${name}', ${sql}`)
    .join(', ')})`;
}

/** The type of a column; values of `json` are texts of JSON, and times are dates. */
type ColumnType = 'bigint' | 'boolean' | 'float8' | 'int' | 'json' | 'real' | 'text' | 'timestamptz' | 'uuid';

/** A column: its type, and its value in a row. */
export type SqlColumn<Row> = [type: ColumnType, pick: (row: Row, index: number) => unknown];

/** Columns by their names. */
export type SqlColumns<Row> = Record<string, SqlColumn<Row>>;

/**
 * SQL that selects the rows from a placeholder, e.g. `$head`. Beside one array per column, which the server unnests one by one, this
 * costs a third with one row and the same with twenty. JSON goes as a text, so that values that are valid only in JSON, such as \u0000,
 * are not interpreted in transit.
 */
export function selectRecordsSql(placeholder: string, columns: SqlColumns<never>): string {
  const shape = Object.entries(columns);
  const types = shape.map(([name, [type]]) => `${name} ${type === 'json' ? 'text' : type}`).join(', ');
  const list = shape.map(([name, [type]]) => (type === 'json' ? `${name}::json` : name)).join(', ');
  return `select ${list}\n  from json_to_recordset(${placeholder}::json) as records (${types})`;
}

/**
 * The rows as a value of that placeholder. A NUL in a text is an error of the statement, as it is everywhere in PostgreSQL; half a
 * surrogate pair becomes U+FFFD.
 */
export function toRecords<Row>(rows: readonly Row[], columns: SqlColumns<Row>): string {
  const shape = Object.entries(columns);
  return toJson(rows.map((row, index) => toRecord(shape, row, index)));
}

function toRecord<Row>(shape: [string, SqlColumn<Row>][], row: Row, index: number): Record<string, unknown> {
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
