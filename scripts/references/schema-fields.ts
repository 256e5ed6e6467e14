// JSON Schemas of the OpenAPI document as rows of a table: each field with its type in words and
// its meaning.
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  const?: Literal;
  enum?: Literal[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  maximum?: number;
  description?: string;
}

type Literal = string | number | boolean;

const COMPONENT_PREFIX = '#/components/schemas/';

/**
 * `| field | type | meaning |` for every field of an object, those of inner objects as
 * `outer.inner`; empty for what is none.
 */
export function fieldTable(schema: Schema): string {
  const rows = fieldsBelow(schema, '');
  return rows.length === 0 ? '' : tableOf(['field', 'type', 'meaning'], rows);
}

/** A table with this head. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [`| ${head.join(' | ')} |`, `|${head.map(() => '---').join('|')}|`, ...rows.map(rowOf)].join('\n');
}

/**
 * A row of a table. What would end a cell is escaped, and so is what would be a tag, outside of
 * code.
 */
export function rowOf(cells: readonly string[]): string {
  const escaped = cells.map((cell) =>
    cell
      .replaceAll('|', String.raw`\|`)
      .replaceAll('\n', ' ')
      .replaceAll(/`[^`]*`|</g, (found) => (found === '<' ? String.raw`\<` : found)),
  );
  return `| ${escaped.join(' | ')} |`;
}

/** The type of an answer's body. */
export function answerText(schema: Schema): string {
  const item = itemOfPage(schema);
  return item === null ? typeText(schema) : `page of ${typeText(item)}`;
}

/** What the items of a page are, if they are described elsewhere. */
export function itemOfPage({ properties = {} }: Schema): Schema | null {
  const item = properties['items']?.items;
  return Object.keys(properties).join() === 'items,nextCursor' && item?.$ref !== undefined ? item : null;
}

/** The type in words; a named schema is a link to its section. */
export function typeText(schema: Schema): string {
  const types = [...new Set(typesOf(schema))].toSorted((a, b) => Number(a === 'null') - Number(b === 'null'));
  return types.length < 2 ? types.join() : `${types.slice(0, -1).join(', ')} or ${types.at(-1)}`;
}

function typesOf(schema: Schema): string[] {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace(COMPONENT_PREFIX, '');
    return [`[${name}](#${name.toLowerCase()})`];
  }
  if (schema.const !== undefined) return [`\`${schema.const}\``];
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``);
  const variants = variantsOf(schema);
  if (variants.length > 0) return variants.flatMap(typesOf);
  if (Array.isArray(schema.type)) return schema.type.flatMap((type) => typesOf({ ...schema, type }));
  return [plainType(schema)];
}

/** The type of a value that has one. */
function plainType({ type, format, items, minimum, maximum, properties }: Schema): string {
  switch (type) {
    case 'string':
      return format === 'uuid' ? 'id' : format === 'date-time' ? 'time' : 'text';
    case 'integer':
    case 'number':
      return type + boundsText(minimum, maximum);
    case 'array':
      return `list of ${typeText(items ?? {})}`;
    case 'object':
      return properties === undefined ? 'map' : 'object';
    case undefined:
    default:
      return type?.toString() ?? 'any JSON';
  }
}

function boundsText(minimum: number | undefined, maximum: number | undefined): string {
  const from = minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? null : minimum;
  const to = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? null : maximum;
  if (from !== null && to !== null) return ` ${from} to ${to}`;
  if (from !== null && from !== 0) return ` of at least ${from}`;
  return to === null ? '' : ` of at most ${to}`;
}

export function variantsOf({ anyOf, oneOf }: Schema): Schema[] {
  return anyOf ?? oneOf ?? [];
}

/**
 * Name, type and meaning of each field; where a value has several forms, of the fields of all of
 * them.
 */
function fieldsBelow(schema: Schema, parent: string): [string, string, string][] {
  const forms = objectsIn(schema);
  const names = new Set(forms.flatMap(({ properties }) => Object.keys(properties ?? {})));
  return [...names].flatMap((name) => {
    const own = forms.flatMap(({ properties }) => properties?.[name] ?? []);
    const isRequired = forms.every(({ required }) => required?.includes(name) ?? false);
    const field: Schema = own.length === 1 ? own[0]! : { anyOf: own };
    const meaning = own.find(({ description }) => description !== undefined)?.description ?? '';
    const path = `${parent}${name}`;
    const row: [string, string, string] = [`\`${path}\``, typeText(field) + (isRequired ? '' : ', optional'), meaning];
    return [row, ...fieldsBelow(field, `${path}.`)];
  });
}

/**
 * The objects that a value, or an item of a list, may be; those with a name have a section of their
 * own.
 */
function objectsIn(schema: Schema): Schema[] {
  const variants = variantsOf(schema);
  if (variants.length > 0) return variants.flatMap(objectsIn);
  if (schema.items !== undefined) return objectsIn(schema.items);
  return schema.properties === undefined ? [] : [schema];
}
