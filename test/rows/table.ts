// How tests read and write rows. Each file beside this one declares the tables of one thing: a
// table that changes is changed in one place, and what tests say of it is checked by types.

/** What sends SQL: a rig, a pool or a client. */
export type Store =
  | { rows(sql: string, values?: unknown[]): Promise<object[]> }
  | { query(sql: string, values?: unknown[]): Promise<{ rows: object[] }> };

interface Kinds {
  text: string;
  /** Also 64 bits wide. */
  int: number;
  bool: boolean;
  time: Date;
  /** A text that is written is the JSON itself. */
  json: unknown;
  texts: readonly string[];
  bytes: Buffer;
}
type Kind = keyof Kinds | `${keyof Kinds}?`;
type Value<K> = K extends `${infer Base extends keyof Kinds}?`
  ? Kinds[Base] | null
  : K extends keyof Kinds
    ? Kinds[K]
    : never;

/** The columns of each kind, separated by spaces: `{ text: 'id status', 'time?': 'endedAt' }`. */
type Columns = { [K in Kind]?: string };
type Words<Text> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;
type Name<C extends Columns> = { [K in keyof C]: Words<C[K]> }[keyof C] & string;
type KindOf<C extends Columns, N> = { [K in keyof C]: N extends Words<C[K]> ? K : never }[keyof C];
type Row<C extends Columns> = { [N in Name<C>]: Value<KindOf<C, N>> };

/** SQL instead of a value; it gets the column that it is written to or compared with. */
export class Expression {
  readonly sql: (column: string) => string;
  constructor(sql: (column: string) => string) {
    this.sql = sql;
  }
}

/** The database's time. */
export const now = new Expression(() => 'clock_timestamp()');

/** So long before the database's time, as PostgreSQL writes an interval. */
export function ago(span: string): Expression {
  return new Expression(() => `clock_timestamp() - interval '${span}'`);
}

export function ahead(span: string): Expression {
  return new Expression(() => `clock_timestamp() + interval '${span}'`);
}

/** So long before what the column has. */
export function earlier(span: string): Expression {
  return new Expression((column) => `${column} - interval '${span}'`);
}

/** The column's number and this one. */
export function plus(amount: number): Expression {
  return new Expression((column) => `${column} + ${amount}`);
}

/** The column's JSON with another text in it. */
export function replaced(old: string, text: string): Expression {
  const [from, to] = [old, text].map((each) => `'${each.replaceAll("'", "''")}'`);
  return new Expression((column) => `replace(${column}::text, ${from}, ${to})::json`);
}

/** Later than any time. */
export const atNoTime = new Expression(() => `'infinity'`);

/** The column's JSON with these fields besides. */
export function withFields(fields: object): Expression {
  const json = JSON.stringify(fields).replaceAll("'", "''");
  return new Expression((column) => `(${column}::jsonb || '${json}')::json`);
}

/** The database's time, or what the column has if that is earlier. */
export const noLaterThanNow = new Expression((column) => `least(${column}, clock_timestamp())`);

/** A comparison that is not "equal". */
class Condition {
  readonly operator: string;
  readonly value: unknown;
  constructor(operator: string, value: unknown) {
    this.operator = operator;
    this.value = value;
  }
}

export const not = (value: unknown): Condition => new Condition('is distinct from', value);
export const like = (pattern: string): Condition => new Condition('like', pattern);
export const above = (value: unknown): Condition => new Condition('>', value);
export const below = (value: unknown): Condition => new Condition('<', value);
export const atLeast = (value: unknown): Condition => new Condition('>=', value);
export const atMost = (value: unknown): Condition => new Condition('<=', value);
/** JSON that has at least these fields. */
export const having = (fields: object): Condition => new Condition('@>', JSON.stringify(fields));

/**
 * One value, a list of the possible ones, or a comparison. Undefined is an error: it would match
 * nothing.
 */
type Wanted<T> = T | readonly T[] | Condition | undefined;
type Where<C extends Columns> = { [N in Name<C>]?: Wanted<Row<C>[N]> } & {
  /** The rows of this session, also where the table knows the turn only. */
  sessionKey?: Wanted<string>;
  sessionId?: Wanted<string>;
};
type Written<C extends Columns> = { [N in Name<C>]?: Row<C>[N] | Expression };

interface More<C extends Columns> {
  /** Names of what is computed from columns, with its SQL. */
  computed?: Record<string, string>;
  /** What a new row has unless a test says otherwise. */
  ordinary?: () => Written<C>;
}

/** The functions over one table; rows are read in this order. */
export function table<const C extends Columns>(
  table: string,
  order: string,
  columns: C,
  { computed = {}, ordinary = () => ({}) }: More<C> = {},
) {
  const from = `holdfast.${table}`;
  const kinds = new Map(
    Object.entries(columns).flatMap(([kind, names]) => names.split(' ').map((name) => [name, kind])),
  );
  const is = (column: string, kind: keyof Kinds): boolean => kinds.get(column)?.replace('?', '') === kind;
  const sqlOf = (column: string): string => computed[column] ?? `"${snakeCase(column)}"`;

  /** A condition, whose values are added to the list. */
  function whereOf(where: object, values: unknown[]): string {
    const parts = Object.entries(where).map(([column, wanted]) => {
      if (kinds.has(column)) return compare(sqlOf(column), wanted, values);
      const ids = `select id from holdfast.sessions where ${compare(column === 'sessionKey' ? 'key' : 'id', wanted, values)}`;
      if (kinds.has('sessionId')) return `session_id in (${ids})`;
      return `turn_id in (select id from holdfast.turns where session_id in (${ids}))`;
    });
    return parts.length === 0 ? '' : `where ${parts.join(' and ')}`;
  }

  function place(column: string, value: unknown, values: unknown[]): string {
    if (value === undefined) return 'default';
    if (value instanceof Expression) return value.sql(sqlOf(column));
    const isJson = is(column, 'json') && typeof value === 'object' && value !== null;
    return `$${values.push(isJson ? JSON.stringify(value) : value)}`;
  }

  /** The rows, with these columns or all. */
  const read = async <N extends Name<C> = Name<C>>(store: Store, where: Where<C> = {}, ...names: N[]) => {
    const list = (names.length === 0 ? [...kinds.keys()] : names)
      .map((column) => `${sqlOf(column)}${is(column, 'int') ? '::float8' : ''} as "${column}"`)
      .join(', ');
    const values: unknown[] = [];
    const sql = `select ${list} from ${from} ${whereOf(where, values)} order by ${order}`;
    return (await send(store, sql, values)) as Pick<Row<C>, N>[];
  };

  const count = async (store: Store, where: Where<C> = {}): Promise<number> => {
    const values: unknown[] = [];
    const rows = await send(store, `select count(*)::int as n from ${from} ${whereOf(where, values)}`, values);
    return (rows as { n: number }[])[0]!.n;
  };

  const change = async (store: Store, where: Where<C>, change: Written<C>): Promise<void> => {
    const values: unknown[] = [];
    const sets = Object.entries(change).map(([column, value]) => `${sqlOf(column)} = ${place(column, value, values)}`);
    await send(store, `update ${from} set ${sets.join(', ')} ${whereOf(where, values)}`, values);
  };

  /** Adds rows, each with what is ordinary besides. */
  const add = async (store: Store, ...rows: Written<C>[]): Promise<void> => {
    const all = rows.map((row): Record<string, unknown> => ({ ...ordinary(), ...row }));
    const names = [...new Set(all.flatMap((row) => Object.keys(row)))];
    const perStatement = Math.floor(60_000 / names.length);
    for (let first = 0; first < all.length; first += perStatement) {
      const values: unknown[] = [];
      const lists = all
        .slice(first, first + perStatement)
        .map((row) => `(${names.map((column) => place(column, row[column], values)).join(', ')})`);
      await send(store, `insert into ${from} (${names.map(sqlOf).join(', ')}) values ${lists.join(', ')}`, values);
    }
  };

  const remove = async (store: Store, where: Where<C> = {}): Promise<void> => {
    const values: unknown[] = [];
    await send(store, `delete from ${from} ${whereOf(where, values)}`, values);
  };

  return { read, count, change, add, remove };
}

export async function send(store: Store, sql: string, values: unknown[] = []): Promise<object[]> {
  return 'rows' in store ? store.rows(sql, values) : (await store.query(sql, values)).rows;
}

function compare(column: string, wanted: unknown, values: unknown[]): string {
  if (wanted === undefined) throw new Error(`No value for ${column}`);
  if (wanted === null) return `${column} is null`;
  if (Array.isArray(wanted)) return `${column} = any ($${values.push(wanted)})`;
  if (!(wanted instanceof Condition)) return `${column} = $${values.push(wanted)}`;
  const { operator, value } = wanted;
  if (value === null) return `${column} is not null`;
  const compared = value instanceof Expression ? value.sql(column) : `$${values.push(value)}`;
  return operator === '@>' ? `${column}::jsonb @> ${compared}` : `${column} ${operator} ${compared}`;
}

/** How many rows have each value of a column, in the order of the values. */
export function grouped<Name extends string, Key extends string | null>(
  rows: readonly Record<Name, Key>[],
  name: Name,
) {
  const groups = Map.groupBy(rows, (row) => row[name]);
  const values = [...groups].toSorted(([a], [b]) => String(a).localeCompare(String(b)));
  return values.map(([value, own]) => ({ [name]: value, n: own.length }));
}

/** The sum of a column. */
export function sumOf<Name extends string>(rows: readonly Record<Name, number | null>[], name: Name): number {
  return rows.reduce((sum, row) => sum + (row[name] ?? 0), 0);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]|(?<=[a-z])1h/g, (found) => `_${found.toLowerCase()}`);
}
