// Statements are constant text that one can see: the checks of the renderer, and the catalogue that
// `npm run sql` prints.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { STATEMENTS } from '../scripts/statement-catalogue.ts';
import { cte, optional, render, rows, statement, type Cte } from '../src/database/statement.ts';

const ROOT = resolve(import.meta.dirname, '..');

const numbers = rows('numbers', (input: readonly number[]) => input, { n: ['int', (n) => n] });
const big = optional('big', (input: readonly number[]) => input.some((n) => n > 9));

function parts<Input>(ctes: Cte<Input>[], select: string) {
  return { name: 'test', purpose: 'Test.', locking: 'None.', ctes, select };
}

const textOf = <Input>(ctes: Cte<Input>[], select: string, ...options: string[]) =>
  render(parts(ctes, select), new Set(options)).text;

describe('a statement', () => {
  test('leaves out a CTE whose option is not chosen', () => {
    const ctes = [numbers, ...big(cte('large as (select n from numbers where n > 9)'))];
    expect(textOf(ctes, 'select * from numbers')).not.toContain('large');
    expect(textOf(ctes, 'select * from numbers', 'big')).toContain('large as (');
  });

  test('puts the absent form of a CTE where another text refers to it', () => {
    const large = cte('large as (select n from numbers where n > 9)', {
      absent: 'large as (select 0 as n where false)',
    });
    expect(textOf([numbers, ...big(large)], 'select * from large')).toContain('large as (select 0 as n where false)');
    expect(textOf([numbers, ...big(large)], 'select * from numbers')).not.toContain('large');
  });

  test('refuses a reference to a CTE that is left out and has no absent form', () => {
    const ctes = [numbers, ...big(cte('large as (select n from numbers where n > 9)'))];
    expect(() => textOf(ctes, 'select * from numbers, large')).toThrow('the final select refers to large');
    expect(textOf(ctes, 'select * from numbers, large', 'big')).toContain('large as (');
  });

  test('refuses a reference to a later CTE', () => {
    const ctes = [cte('first as (select * from second)'), cte('second as (select 1)')];
    expect(() => textOf(ctes, 'select * from first')).toThrow('first refers to second, but no CTE before it');
  });

  test('refuses two CTEs with one name', () => {
    const ctes = [cte('one as (select 1)'), cte('one as (select 2)')];
    expect(() => textOf(ctes, 'select * from one')).toThrow('two CTEs with the name one');
  });

  test('sees tables, columns, functions, comments and texts for what they are', () => {
    const select = `select extract(epoch from t.at), t.a is distinct from other -- from nowhere
      from holdfast.turns t, unnest(array[1]) as place, lateral (select 'from nowhere') as x using_is_a_name`;
    expect(textOf([], select)).toContain('nowhere');
  });

  test('numbers its values in the order of their first use, each once', () => {
    const ctes = [
      numbers,
      cte('twice as (select $limit::int as a, $limit::int as b, $offset::int as c)', {
        binds: { limit: () => 2, offset: () => 3 },
      }),
    ];
    const query = statement(parts(ctes, 'select * from twice')).prepared([]);
    expect(query.text).toContain('select $2::int as a, $2::int as b, $3::int as c');
    expect(query.values).toEqual(['[]', 2, 3]);
  });

  test('refuses a value without a type, and one that no CTE binds', () => {
    expect(() => textOf([cte('one as (select $limit)')], 'select 1')).toThrow('uses $limit without a type');
    const unbound = statement(parts([cte('one as (select $limit::int)')], 'select * from one'));
    expect(() => unbound.prepared([])).toThrow('no CTE of it binds that value');
  });

  test('has one name for each choice of its options', () => {
    const one = statement(parts([numbers, ...big(cte('large as (select 1)'))], 'select * from numbers'));
    expect([[1], [2], [10], [11], []].map((input) => one.prepared(input).name)).toEqual([
      'test-0',
      'test-0',
      'test-1',
      'test-1',
      'test-0',
    ]);
  });
});

/** The text of every file of the service. */
function sources(): { file: string; text: string }[] {
  const files = globSync('{src,workers,jobs}/**/*.ts', { cwd: ROOT });
  return files.map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));
}

const byText = (a: string, b: string): number => a.localeCompare(b);

test('every statement that the source makes is in the catalogue', () => {
  const made = sources().flatMap(({ file, text }) =>
    file === 'src/database/statement.ts' ? [] : [...text.matchAll(/^ {2}name: '([^']+)',\n {2}purpose:/gm)],
  );
  expect(STATEMENTS.map(({ name }) => name)).toEqual(made.map(([, name = '']) => name).toSorted(byText));
});

/** Where a connection is checked or prepared, and where the tables are not those of Holdfast. */
const BESIDE_THE_CATALOGUE = [
  'src/embedded-postgres/',
  'src/database/event-ids.ts',
  'src/database/inspect-database.ts',
  'src/database/migrate.ts',
  // Over all tables there are, whatever their names.
  'src/features/backup/backup-file.ts',
  // It begins and ends what others send.
  'src/database/transaction.ts',
  'workers/queue/',
];

/** A constant of the catalogue, or what `sendQuery` is given, which is one by its type. */
const SENT = /^[A-Z_]+(?:\[.*\])?\.prepared\(|^query(?:, answer)?\)/;

/** What a view composes of pieces. */
const COMPOSED = /^(?:sql`|last\)|matchingSql\(|(?:await )?\w+Query\()/;

test('what is sent is in the catalogue, but for composed views, and for what a connection needs', () => {
  const beside = sources().flatMap(({ file, text }) => {
    if (BESIDE_THE_CATALOGUE.some((place) => file.startsWith(place))) return [];
    const queries = [...text.matchAll(/\.query(?:<.*?>)?\(\s*(.{1,40})/g)].map(([, sent = '']) => sent);
    const isView = /\/views(?:\/|\.ts$)/.test(file);
    return queries.filter((sent) => !SENT.test(sent) && !(isView && COMPOSED.test(sent))).map((sent) => [file, sent]);
  });
  expect(beside).toEqual([]);
});

/** The files with statements that something else sends than the function of their declaration. */
const WITH_OTHER_SENDERS = [
  // It makes the function.
  'src/database/literal-query.ts',
  // `database.ts` needs it, and `literal-query.ts` needs that.
  'src/database/event-ids.ts',
  // One statement has a time limit of its own, the other counts the rows that it writes.
  'src/features/costs/store/roll-up.ts',
  // Statements of turns, which share their senders.
  'src/kernel/sessions/claim-statement.ts',
  // It is composed of the questions that are registered.
  'src/kernel/queue/work-watch.ts',
  // Pages of lists: one of several texts is sent, by the filter.
  'src/kernel/views/transcript.ts',
  'src/kernel/views/waiting.ts',
];

test('a literal statement has no sender of its own; a file that has none any more leaves the list', () => {
  const withLiterals = sources().filter(({ text }) => /= literal\(\{/.test(text));
  expect(withLiterals.map(({ file }) => file).toSorted(byText)).toEqual(WITH_OTHER_SENDERS.toSorted(byText));
});

test('the names of all statements differ', () => {
  const names = STATEMENTS.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test('every statement renders with any one of its options, and without any one', () => {
  for (const one of STATEMENTS) {
    for (const option of one.options) {
      expect(one.render(new Set([option])).text).toContain(`/* ${one.name} */`);
      expect(one.render(new Set(one.options.filter((other) => other !== option))).text).toContain(`/* ${one.name} */`);
    }
  }
});
