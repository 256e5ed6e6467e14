// Statements that one can see. A statement is a list of named CTEs and a final select. Each CTE is
// constant text that is either part of the statement or left out, so a statement has a finite list
// of texts, and `npm run sql` prints them (docs/decisions/0039).
//
// A text names its values: `$head::json`, always with the type. They become `$1`, `$2`, ... in the
// order of their first use.
import { oneInFlight } from '../coalesce.ts';
import { isPassingFault, retryPassingFaults, TURN_RETRY_MS, REQUEST_RETRY_MS } from './passing-faults.ts';
import type { Pool, QueryResultRow } from 'pg';

/** The values of placeholders, by their names. */
type Binds<Input> = Readonly<Record<string, (input: Input) => unknown>>;

/** A part of a statement. */
export interface Cte<in Input = unknown> {
  readonly name: string;
  /** `name as (...)`. */
  readonly text: string;
  /**
   * Its replacement when it is left out and another text refers to it: a variant, or no rows of the
   * same columns.
   */
  readonly absent?: string;
  readonly binds: Binds<Input>;
  /** Absent: it is part of every text of the statement. */
  readonly option?: StatementOption<Input>;
}

interface StatementOption<in Input> {
  readonly name: string;
  readonly when: (input: Input) => boolean;
}

/** A CTE from its text, `name as (...)`. */
export function cte<Input = unknown>(
  text: string,
  { absent, binds = {} }: { absent?: string; binds?: Binds<Input> } = {},
): Cte<Input> {
  const name = formatName(text);
  if (absent !== undefined && formatName(absent) !== name)
    throw new Error(`The CTE ${name} has an absent form with the name ${formatName(absent)}. Give both the same name.`);
  return { name, text, binds, ...(absent !== undefined && { absent }) };
}

/** A CTE with the rows that a statement is given: `pick` chooses them from its input. */
export function rows<Input, Row>(
  name: string,
  pick: (input: Input) => readonly Row[],
  columns: SqlColumns<Row>,
): Cte<Input> {
  const bind = (input: Input): string => toRecords(pick(input), columns);
  return cte(`${name} as (\n  ${selectRecordsSql(`$${name}`, columns)}\n)`, { binds: { [name]: bind } });
}

/**
 * Makes CTEs that are part of a statement only when its input asks for it; all of one option are in
 * or out together.
 */
export function optional<Input>(
  name: string,
  when: (input: Input) => boolean,
): (...ctes: Cte<Input>[]) => Cte<Input>[] {
  const option = { name, when };
  return (...ctes) => ctes.map((one) => ({ ...one, option }));
}

/** The facts that a reader of a statement needs. */
interface StatementFacts {
  name: string;
  /** Its purpose, and its result. */
  purpose: string;
  /** Which rows it locks, and in which order. */
  locking: string;
}

export interface StatementParts<in Input> extends StatementFacts {
  /** In their order: a CTE refers to those before it. */
  ctes: readonly Cte<Input>[];
  /** The text after the CTEs. */
  select: string;
}

/** A text as it is sent. */
export interface RenderedStatement {
  text: string;
  /** The placeholders, in their order; empty where a text numbers them itself. */
  parameters: { name: string; type: string }[];
}

/** A query for `pg`: equal names have equal texts, so a connection plans each of them once. */
export interface PreparedQuery {
  name: string;
  text: string;
  values: unknown[];
}

/** A statement as it is listed: its facts, and the text that any choice of its options gives. */
export interface VisibleStatement extends StatementFacts {
  /** The names of its options. */
  options: readonly string[];
  render(options: ReadonlySet<string>): RenderedStatement;
}

export interface Statement<in Input> extends VisibleStatement {
  /** The query for this input. Its name has a digit for each option: 1 when its CTEs are in. */
  prepared(input: Input): PreparedQuery;
}

/** Makes a statement. */
export function statement<Input>(parts: StatementParts<Input>): Statement<Input> {
  const { name, purpose, locking, ctes } = parts;
  const options = [...new Map(ctes.flatMap(({ option }) => (option ? [[option.name, option]] : []))).values()];
  const binds: Binds<Input> = Object.assign({}, ...ctes.map((one) => one.binds));
  // At most one entry for each choice of the options; a service uses a few of them.
  const variants = new Map<string, RenderedStatement>();
  return {
    name,
    purpose,
    locking,
    options: options.map((option) => option.name),
    render: (included) => render(parts, included),
    prepared(input) {
      const included = options.filter((option) => option.when(input));
      const digits = options.map((option) => (included.includes(option) ? '1' : '0')).join('');
      let variant = variants.get(digits);
      if (variant === undefined) {
        variant = render(parts, new Set(included.map((option) => option.name)));
        variants.set(digits, variant);
      }
      const values = variant.parameters.map((parameter) => readValue(parts.name, binds, parameter.name, input));
      return { name: digits === '' ? name : `${name}-${digits}`, text: variant.text, values };
    },
  };
}

function readValue<Input>(statementName: string, binds: Binds<Input>, parameter: string, input: Input): unknown {
  const bind = binds[parameter];
  if (bind === undefined)
    throw new Error(
      `The statement ${statementName} uses $${parameter}, but no CTE of it binds that value. Add the bind.`,
    );
  return bind(input);
}

/**
 * A statement whose text is one literal, which numbers its placeholders itself. `locking` absent:
 * it locks nothing.
 */
export function literal(
  facts: Omit<StatementFacts, 'locking'> & { locking?: string; text: string },
): Statement<unknown[]> {
  const text = `/* ${facts.name} */\n${facts.text}`;
  return {
    name: facts.name,
    purpose: facts.purpose,
    locking: facts.locking ?? 'None.',
    options: [],
    render: () => ({ text, parameters: [] }),
    prepared: (values) => ({ name: facts.name, text, values }),
  };
}

/** Renders a statement with these options, and checks its names. */
export function render<Input>(parts: StatementParts<Input>, options: ReadonlySet<string>): RenderedStatement {
  const texts = choose(parts, options);
  checkNames(parts.name, texts, parts.select);
  const parameters: RenderedStatement['parameters'] = [];
  const withs = texts.map(({ text }) => text).join(',\n');
  const named = `/* ${parts.name} */\n${withs === '' ? '' : `with ${withs}\n`}${parts.select}`;
  const text = named.replaceAll(PLACEHOLDER, (_, name: string, type: string | undefined) => {
    if (type === undefined)
      throw new Error(
        `The statement ${parts.name} uses $${name} without a type. Write it with one, e.g. $${name}::uuid.`,
      );
    let position = parameters.findIndex((parameter) => parameter.name === name);
    if (position === -1) position = parameters.push({ name, type }) - 1;
    return `$${position + 1}::${type}`;
  });
  return { text, parameters };
}

interface ChosenText {
  name: string;
  text: string;
}

/** The texts of the CTEs that are in, and of the absent forms that another text refers to. */
function choose<Input>({ ctes, select }: StatementParts<Input>, options: ReadonlySet<string>): ChosenText[] {
  const needed = new Set(findTables(select));
  const chosen: ChosenText[] = [];
  for (const one of ctes.toReversed()) {
    const isIn = one.option === undefined || options.has(one.option.name);
    const text = isIn ? one.text : needed.has(one.name) ? one.absent : undefined;
    if (text === undefined) continue;
    findTables(text).forEach((table) => needed.add(table));
    chosen.unshift({ name: one.name, text });
  }
  return chosen;
}

/** A CTE may refer to those before it alone. */
function checkNames(statementName: string, ctes: ChosenText[], select: string): void {
  const known = new Set<string>();
  for (const { name, text } of [...ctes, { name: 'the final select', text: select }]) {
    const missing = findTables(text).find((table) => !known.has(table));
    if (missing !== undefined)
      throw new Error(
        `In the statement ${statementName}, ${name} refers to ${missing}, but no CTE before it has that name. ` +
          'Add the CTE, or give the one that is left out an absent form.',
      );
    if (known.has(name))
      throw new Error(`The statement ${statementName} has two CTEs with the name ${name}. Rename one of them.`);
    known.add(name);
  }
}

const PLACEHOLDER = /\$([a-z_][a-z_0-9]*)(?:::([a-z]+(?:\[\])?))?/g;
/**
 * A list of tables after `from`, `join` or `using`; `distinct from` and `extract(... from ...)` of
 * a column are none.
 */
const TABLES =
  /(?<!distinct )\b(?:from|join|using)\s+((?:[a-z_][\w.]*)(?![\w.(])(?:\s+(?:as\s+)?[a-z_]\w*)?(?:\s*,\s*[a-z_][\w.]*(?![\w.(])(?:\s+(?:as\s+)?[a-z_]\w*)?)*)/g;
const NO_TABLE = /^(?:lateral|unnest|only)$/;

/** The CTEs that a text refers to: names without a schema in the place of a table. */
function findTables(text: string): string[] {
  const code = text.replaceAll(/--[^\n]*/g, '').replaceAll(/'(?:[^']|'')*'/g, "''");
  const tables = [...code.matchAll(TABLES)].flatMap(([, list = '']) =>
    list.split(',').map((one) => one.trim().split(/\s/)[0] ?? ''),
  );
  return tables.filter((table) => !table.includes('.') && !NO_TABLE.test(table));
}

function formatName(text: string): string {
  const name = /^([a-z_]+) as (?:materialized )?\(/.exec(text)?.[1];
  if (name === undefined)
    throw new Error(`The text of a CTE begins with "${text.slice(0, 40)}". Begin it with "name as (" instead.`);
  return name;
}

// Lets many callers share one statement (`src/coalesce.ts`). A statement that fails for a passing
// reason (a restart, a broken connection, a deadlock) is sent again unchanged, so a shared
// statement is always one that is safe to send again.

/** Submits a row and resolves with its result; rejects when its statement failed permanently. */
export type RowSubmitter<Row, Result> = (row: Row) => Promise<Result>;

/**
 * Statements join their rows in nested loops, so their time grows faster than their rows: beyond
 * this, two statements are quicker than one.
 */
const ROWS_MAX = 32;

/**
 * A statement is written in one piece: a million characters take about 20 ms, in which the process
 * does nothing else.
 */
const CHARS_MAX = 1_000_000;

/** More rows than requests and turns of one process can submit at a time. */
const WAITING_MAX = 20_000;

/**
 * Makes a function that shares statements among its callers. `run` sends one statement and returns
 * one result per row, in the same order. `charsOf` is for rows that may be long; absent: they are
 * not.
 */
export function shareStatement<Row, Result>(
  name: string,
  run: (rows: Row[]) => Promise<Result[]>,
  charsOf?: (row: Row) => number,
): RowSubmitter<Row, Result> {
  const { submit } = oneInFlight({
    name: `rows of the statement ${name}`,
    run: (rows: Row[]) => retryPassingFaults(() => run(rows), TURN_RETRY_MS),
    rowsMax: ROWS_MAX,
    ...(charsOf === undefined ? {} : { length: { of: charsOf, max: CHARS_MAX } }),
    waitingMax: WAITING_MAX,
    isShared: isPassingFault,
  });
  return submit;
}

// Rows as one value of a statement: a JSON text, which `json_to_recordset` reads
// (docs/decisions/0027).

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
 * SQL that selects the rows from a placeholder, e.g. `$head`. Beside one array per column, which
 * the server unnests one by one, this costs a third with one row and the same with twenty. JSON
 * goes as a text, so that values that are valid only in JSON, such as \u0000, are not interpreted
 * in transit.
 */
export function selectRecordsSql(placeholder: string, columns: SqlColumns<never>): string {
  const shape = Object.entries(columns);
  const types = shape.map(([name, [type]]) => `${name} ${type === 'json' ? 'text' : type}`).join(', ');
  const list = shape.map(([name, [type]]) => (type === 'json' ? `${name}::json` : name)).join(', ');
  return `select ${list}\n  from json_to_recordset(${placeholder}::json) as records (${types})`;
}

/**
 * The rows as a value of that placeholder. A NUL in a text is an error of the statement, as it is
 * everywhere in PostgreSQL; half a surrogate pair becomes U+FFFD.
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

// Sends a statement, again after faults that pass: only for one that is safe to send again. So no
// request is refused and no turn is broken off because of one fault.

/**
 * The rows of the answer; rejects with the error when that will not pass, or has not passed in
 * time.
 */
export async function sendQuery<Row extends QueryResultRow>(
  pool: Pool,
  query: PreparedQuery,
  retryMs = REQUEST_RETRY_MS,
): Promise<Row[]> {
  return (await retryPassingFaults(() => pool.query<Row>(query), retryMs)).rows;
}
