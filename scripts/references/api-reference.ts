// docs/references/api.md: every operation with its parameters, its body and its answers, and every
// named object.
import { apiDocument, type Operation, type Parameter } from './api-document.ts';
import { answerText, fieldTable, itemOfPage, rowOf, typeText, variantsOf, type Schema } from './schema-fields.ts';

const HEAD = `# Reference of the API

Made from the table of routes. [api.md](../api.md) explains how the API is used: keys, errors, idempotency, events.
\`/openapi.json\` of a service says the same for programs.

A field is always there unless it is *optional*. A *time* is ISO 8601 in UTC, an *id* a UUID, a *page* \`{items, nextCursor}\`. Every POST takes the header \`Idempotency-Key\` (1 to 200 visible ASCII characters); every
operation may answer with a [Problem](#problem), those for OpenAI's clients with an [OpenAiError](#openaierror).`;

export function apiReference(): string {
  const { operations, schemas } = apiDocument();
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  const sections = tags.map((tag) => {
    const own = operations.filter((operation) => operation.tag === tag).map(operationText);
    return [`## Routes: ${tag}`, ...own].join('\n\n');
  });
  const objects = Object.entries(schemas).map(([name, schema]) => `### ${name}\n\n${objectText(schema)}`);
  return `${[HEAD, ...sections, '## Objects', ...objects].join('\n\n')}\n`;
}

function operationText({ place, summary, operationId, parameters, body, answers, isOpenAi }: Operation): string {
  const calledBy = isOpenAi ? "Called by OpenAI's clients." : `In the [client](client.md): \`${operationId}\`.`;
  const parts = [`### \`${place}\``, `${summary}. ${calledBy}`];
  // Every POST takes it: the head of the page says so.
  const own = parameters.filter(({ name }) => name !== 'Idempotency-Key');
  if (own.length > 0) parts.push(parameterTable(own));
  if (body !== null) parts.push(bodyText(body));
  parts.push(answersText(answers));
  return parts.join('\n\n');
}

function parameterTable(parameters: Parameter[]): string {
  const rows = parameters.map(({ name, in: place, schema, description }) =>
    rowOf([`\`${name}\``, place, typeText(schema), description]),
  );
  return ['| parameter | in | type | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function bodyText({ isRequired, schema }: { isRequired: boolean; schema: Schema }): string {
  const head = `Body${isRequired ? '' : ', optional'}`;
  const table = fieldTable(schema);
  return table === '' ? `${head}: ${typeText(schema)}.` : `${head}:\n\n${table}`;
}

function answersText(answers: Operation['answers']): string {
  const rows = answers.map(({ status, contentType, schema, description }) =>
    rowOf([status, answerType(contentType, schema), description]),
  );
  const tables = answers.flatMap(({ status, contentType, schema }) => {
    const table =
      schema === null || contentType !== 'application/json' || itemOfPage(schema) !== null ? '' : fieldTable(schema);
    return table === '' ? [] : [`The object of ${status}:\n\n${table}`];
  });
  return [['| answer | body | when |', '|---|---|---|', ...rows].join('\n'), ...tables].join('\n\n');
}

function answerType(contentType: string, schema: Schema | null): string {
  if (contentType === '') return 'none';
  return contentType === 'application/json' ? answerText(schema ?? {}) : `\`${contentType}\``;
}

function objectText(schema: Schema): string {
  const [named] = variantsOf(schema).flatMap(({ properties }) => discriminatorOf(properties));
  return named === undefined ? fieldTable(schema) || `${typeText(schema)}.` : variantTable(schema, named);
}

/**
 * A row for each form of an object, by the field that tells them apart, with the fields that not
 * all of them have.
 */
function variantTable(schema: Schema, named: string): string {
  const variants = variantsOf(schema).map(({ properties = {} }) => properties);
  const isCommon = (name: string): boolean => name !== named && variants.every((fields) => name in fields);
  const common = Object.keys(variants[0] ?? {}).filter(isCommon);
  const fieldText = (fields: Record<string, Schema>, name: string): string =>
    `\`${name}\`: ${typeText(fields[name] ?? {})}`;
  const rows = variants.map((fields) => {
    const own = Object.keys(fields).filter((name) => name !== named && !isCommon(name));
    return rowOf([typeText(fields[named] ?? {}), own.map((name) => fieldText(fields, name)).join('; ')]);
  });
  return [
    `Every form has ${common.map((name) => `\`${name}\``).join(', ')}.`,
    [`| \`${named}\` | further fields |`, '|---|---|', ...rows].join('\n'),
  ].join('\n\n');
}

/** The field that is a constant of this form. */
function discriminatorOf(fields: Record<string, Schema> = {}): string[] {
  return Object.entries(fields).flatMap(([name, field]) => (field.const === undefined ? [] : [name]));
}
