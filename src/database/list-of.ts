// A list as one declaration: its columns and tables, the condition of each filter, its order, and
// what the API shows of a row. Its statement has the conditions of the filters that are given and
// no others, so each choice of filters has a plan of its own, by its own index. Pages go by key, so
// the order has one column, which is unique among the rows that `where` leaves.
import type { QueryResultRow } from 'pg';
import type { Scope } from '../core/scope.ts';
import { numberNames, readValue } from './literal-query.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from './page.ts';
import { labelsSql } from './scope-sql.ts';
import type { VisibleStatement } from './statement.ts';

/** The fields of a filter that may be absent, each with its condition. */
type Conditions<Filter> = {
  [Name in keyof Filter as undefined extends Filter[Name] ? Name : never]-?: string;
};

interface ListParts<Filter, Row, Item> {
  name: string;
  /** Its purpose, and its result. */
  purpose: string;
  /** The columns and tables: `select ... from ...`. */
  text: string;
  /** What is true for every row. It names the fields that a filter must have. */
  where?: string;
  /**
   * `status: 'b.status = $status'`; a condition that names no value is that of a filter which is
   * `true`.
   */
  filters: Conditions<Filter>;
  /**
   * The column with the scope of a row (`x.scope`), or with the owner that made it (`x.owner`): a
   * scope sees no other rows. Absent: the list has no filter of that name, and is not for keys with
   * a scope.
   */
  seenBy?: 'scope' extends keyof Filter ? `${string}.scope` | `${string}.owner` : never;
  /** The column of the key, and its direction. */
  order: `${string} ${'asc' | 'desc'}`;
  /** The field of an item that is its key; absent: `id`. */
  key?: keyof Item & string;
  /** Absent: an item is a row as it is. */
  show?: (row: Row, db: ViewDatabase) => Item;
}

/** A filter with a scope names the column that it is compared with. */
type ScopeColumn<Filter> = Filter extends { scope: Scope } ? { seenBy: string } : unknown;

type ListDeclaration<Filter, Row, Item> = ListParts<Filter, Row, Item> &
  ScopeColumn<Filter> &
  ([Item] extends [Row] ? unknown : { show: (row: Row, db: ViewDatabase) => Item });

type FilterOfFind<Filter> = Omit<Filter, 'scope'> & { scope?: Scope };

interface List<Filter, Item> extends VisibleStatement {
  /** A page of the items that a filter finds. */
  list(db: ViewDatabase, filter: Filter, page: PageRequest): Promise<Page<Item>>;
  /**
   * The item with this key; null: there is none, or the filter does not find it. Without a scope, its
   * route has checked that the caller has it.
   */
  find(
    db: ViewDatabase,
    key: string,
    ...filter: object extends FilterOfFind<Filter> ? [FilterOfFind<Filter>?] : [FilterOfFind<Filter>]
  ): Promise<Item | null>;
}

/** Makes a list. */
export function listOf<Filter extends object, Row extends QueryResultRow, Item = Row>(
  parts: ListDeclaration<Filter, Row, Item>,
): List<Filter, Item> {
  // Without `show`, the types of a row and an item are the same.
  const {
    name,
    purpose,
    key = 'id' as keyof Item,
    show = (row) => row as unknown as Item,
  } = parts as ListParts<Filter, Row, Item>;
  const [column, direction] = parts.order.split(' ');
  const { seenBy = '' }: { seenBy?: string } = parts;
  const isLabel = seenBy.endsWith('.scope');
  const conditions: Record<string, string> = {
    ...parts.filters,
    ...(seenBy !== '' && { scope: isLabel ? `${seenBy} = seen.id` : `${seenBy} = any ($scope::text[])` }),
    key: `${column} = $key`,
    after: `${column} ${direction === 'asc' ? '>' : '<'} $after`,
  };
  const options = Object.keys(conditions);

  const render = (included: ReadonlySet<string>): ReturnType<typeof numberNames> => {
    const given = Object.entries(conditions).filter(([option]) => included.has(option));
    const all = [parts.where ?? 'true', ...given.map(([, condition]) => condition)];
    const where = all.map((condition) => `(${condition})`).join(' and ');
    const rest = `where ${where}\norder by ${parts.order} limit $limit`;
    if (!isLabel || !included.has('scope')) return numberNames(`/* ${name} */\n${parts.text}\n${rest}`);
    // Each number of the scope by itself, so that an index gives its rows in their order.
    const text = parts.text.replace(/^select /, `select ${column} as "pageKey", `);
    return numberNames(
      `/* ${name} */\nselect found.* from (${labelsSql('$scope')}) as seen cross join lateral (\n${text}\n${rest}\n) as found\norder by "pageKey" ${direction} limit $limit`,
    );
  };

  async function read(db: ViewDatabase, values: object): Promise<Item[]> {
    const included = new Set(options.filter((option) => readValue(values, option) !== null));
    const digits = options.map((option) => (included.has(option) ? '1' : '0')).join('');
    const { text, names } = render(included);
    const query = { name: `${name}-${digits}`, text, values: names.map((one) => readValue(values, one)) };
    const { rows } = await db.query<Row & { pageKey?: unknown }>(query);
    return rows.map(({ pageKey: _pageKey, ...row }) => show(row as unknown as Row, db));
  }

  return {
    name,
    purpose,
    locking: 'None.',
    options,
    render: (included) => ({ text: render(included).text, parameters: [] }),
    async list(db, filter, { after, limit }) {
      const items = await read(db, { ...filter, after, limit: limit + 1 });
      return cutPage(items, limit, (item) => String(item[key]));
    },
    async find(db, wanted, filter?) {
      return (await read(db, { ...filter, key: wanted, limit: 1 }))[0] ?? null;
    },
  };
}
