// The texts of `src/client/operations.ts` and `src/client/places.ts`: the types and the places of all operations, made of the OpenAPI document
// and so of the route table. The files are committed, and a test compares them with these texts. They are two because Node takes 60 ms to
// strip the types of the first, which nothing loads.
import { openApiDocument } from '../src/api/openapi.ts';
import { ROUTES } from '../src/api/route-table.ts';
import { commentOf, fieldOf, typeOfSchema, unionOf } from './type-of-schema.ts';

interface Schema {
  [keyword: string]: unknown;
}

interface OperationDoc {
  summary: string;
  operationId: string;
  parameters: { name: string; in: string; required: boolean; description: string; schema: Schema }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

interface Operation {
  /** Method and path. */
  place: string;
  doc: OperationDoc;
  takesLines: boolean;
}

const MADE = '// Made by `npm run write:client` from the route table of the API; do not edit it.';

const TYPES_HEADER = `${MADE} The types of all operations, for the typed client. Nothing
// of it remains at run time, and it imports nothing of the service.
/* oxlint-disable max-lines */
import type { CallOptions, LineBody } from './call-options.ts';
`;

const PLACES_HEADER = `${MADE} Where the functions of the typed client send their
// requests.
`;

/** The files by their names. */
export function clientFiles(): Record<'operations.ts' | 'places.ts', string> {
  const document = JSON.parse(JSON.stringify(openApiDocument(ROUTES))) as {
    paths: Record<string, Record<string, OperationDoc>>;
    components: { schemas: Record<string, Schema> };
  };
  const lineRoutes = new Set(
    ROUTES.filter((route) => route.takesLines !== undefined).map(({ method, path }) => `${method} ${path}`),
  );
  // Those have clients of their own.
  const openAiRoutes = new Set(
    ROUTES.filter((route) => route.isOpenAi === true).map(({ method, path }) => `${method} ${path}`),
  );
  const operations = Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, doc]): Operation => {
        const place = `${method.toUpperCase()} ${path}`;
        return { place, doc, takesLines: lineRoutes.has(place) };
      }),
    )
    .filter(({ place }) => !openAiRoutes.has(place));
  const streams = operations.filter(isStream);
  const calls = operations.filter((operation) => !isStream(operation) && !isPage(operation));
  const types = [
    TYPES_HEADER,
    '/** The things that requests and answers are made of, by their names in the OpenAPI document. */',
    `export interface Schemas {\n${schemaFields(document.components.schemas)}\n}\n`,
    '/** One function for each operation, named as in the OpenAPI document. Each throws `HoldfastError`. */',
    `export interface OperationFunctions {\n${calls.map(functionOf).join('\n')}\n}\n`,
    '/** What the items of each list are. */',
    `export interface ListItems {\n${calls.flatMap(listItemOf).join('\n')}\n}\n`,
    '/** What the streams of events may be asked for. */',
    `export interface StreamInputs {\n${streams.map((stream) => `  ${stream.doc.operationId}: ${inputOf(stream, '  ')};`).join('\n')}\n}\n`,
  ];
  const places = [
    PLACES_HEADER,
    '/** The method and path of each function, and what its answer is unless that is JSON. */',
    placesOf('OPERATIONS', calls),
    '/** The method and path of each stream of events. */',
    placesOf('STREAMS', streams),
  ];
  return { 'operations.ts': types.join('\n'), 'places.ts': places.join('\n') };
}

function schemaFields(schemas: Record<string, Schema>): string {
  return Object.entries(schemas)
    .map(([name, schema]) =>
      fieldOf({ name, type: typeOfSchema(schema, '  '), isOptional: false, description: schema['description'] }, '  '),
    )
    .join('\n');
}

function functionOf(operation: Operation): string {
  const { operationId, summary } = operation.doc;
  const isOptional = !fieldsOf(operation, '').some((field) => !field.isOptional);
  const input = `input${isOptional ? '?' : ''}: ${inputOf(operation, '  ')}`;
  return `${commentOf(`${summary}. \`${operation.place}\``, '  ')}  ${operationId}(${input}, options?: CallOptions): Promise<${answerOf(operation)}>;`;
}

/** Path parameters and query by their names, and the body. */
function inputOf(operation: Operation, indent: string): string {
  const fields = fieldsOf(operation, `${indent}  `);
  if (fields.length === 0) return 'Record<string, never>';
  return `{\n${fields.map((field) => fieldOf(field, `${indent}  `)).join('\n')}\n${indent}}`;
}

function fieldsOf({ doc, takesLines }: Operation, indent: string) {
  const parameters = doc.parameters
    .filter((parameter) => parameter.in !== 'header')
    .map(({ name, required, description, schema }) => ({
      name,
      // An absent value may be written as `undefined`: the client leaves it out.
      type: typeOfParameter(schema, indent) + (required ? '' : ' | undefined'),
      isOptional: !required,
      description,
    }));
  if (doc.requestBody === undefined) return parameters;
  const { required, content } = doc.requestBody;
  const type = typeOfSchema(content['application/json']?.schema ?? {}, indent);
  const description = takesLines ? 'A JSON object, or lines of JSON (application/x-ndjson)' : '';
  return [
    ...parameters,
    { name: 'body', type: takesLines ? `${type} | LineBody` : type, isOptional: !required, description },
  ];
}

/** The client writes values of a query as text, and joins those of a list. */
function typeOfParameter(schema: Schema, indent: string): string {
  const type = typeOfSchema(schema, indent);
  if (type === "'true' | 'false'") return 'boolean';
  return schema['type'] === 'array' ? `readonly ${type}` : type;
}

/** The result of a call: the bodies of its 2xx answers. */
function answerOf({ doc }: Operation): string {
  const answers = Object.entries(doc.responses).filter(([status]) => status.startsWith('2'));
  return unionOf(
    answers.map(([status, { content }]) => {
      const [type = '', media] = Object.entries(content ?? {})[0] ?? [];
      if (media === undefined) return status === '204' ? 'undefined' : 'unknown';
      return type === 'application/x-ndjson' ? 'ReadableStream<Uint8Array>' : typeOfSchema(media.schema, '  ');
    }),
  );
}

/** Lists are the operations that take a cursor. */
function listItemOf({ doc }: Operation): string[] {
  if (!doc.parameters.some(({ name }) => name === 'cursor')) return [];
  const page = doc.responses['200']?.content?.['application/json']?.schema as
    | { properties?: { items?: { items?: Schema } } }
    | undefined;
  return [`  ${doc.operationId}: ${typeOfSchema(page?.properties?.items?.items ?? {}, '  ')};`];
}

function isStream({ doc }: Operation): boolean {
  return doc.responses['200']?.content?.['text/event-stream'] !== undefined;
}

/** A page for people. */
function isPage({ doc }: Operation): boolean {
  return doc.responses['200']?.content?.['text/html'] !== undefined;
}

function formOf({ doc }: Operation): string {
  const content = doc.responses['200']?.content ?? {};
  if (content['application/x-ndjson'] !== undefined) return ' lines';
  return content['text/plain'] === undefined ? '' : ' text';
}

function placesOf(name: string, operations: Operation[]): string {
  const rows = operations.map(
    (operation) => `  ${operation.doc.operationId}: '${operation.place}${formOf(operation)}',`,
  );
  return `export const ${name} = {\n${rows.join('\n')}\n} as const;\n`;
}
