// The OpenAPI 3.1 document, made of the route table and its schemas. OpenAPI 3.1 speaks JSON Schema
// 2020-12, which is what zod writes, so the schemas go in as they are.
import { z } from 'zod';
import { REQUEST_HEADER } from './key-ring.ts';
import { namesIn, PATH_PARAMETERS } from './parse-json.ts';
import { PROBLEMS } from './problem.ts';
import type { AnswerDoc, Route } from './route.ts';
import { COMPONENTS } from '../contract/components.ts';
import { VALUES } from '../contract/queries.ts';
import { webhooksDocument } from '../contract/webhooks.ts';

type Json = Record<string, unknown>;

const COMPONENT_PREFIX = '#/components/schemas/';
const AS_SENT = { io: 'input', unrepresentable: 'any' } as const;

/**
 * The document of these routes. `publicUrl`: the address for clients; absent: the address from
 * which the document was loaded.
 */
export function openApiDocument(routes: readonly Route[], publicUrl?: string): Json {
  const { schemas, toSchema } = convertSchemas(routes);
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = buildOperation(route, toSchema);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version: '1',
      description: 'A durable worker service for LLM agents. Errors are application/problem+json with a stable code.',
    },
    // A relative address is that of the document.
    servers: [{ url: publicUrl?.replace(/\/$/, '') ?? '/', description: 'This service' }],
    security: [{ key: [] }, { cookie: [] }],
    paths,
    webhooks: webhooksDocument(),
    components: {
      schemas,
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer' },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'holdfast_7420',
          description: `The cookie of a signed-in browser; its name ends with the port. Requests other than GET also need the header ${REQUEST_HEADER}: 1`,
        },
      },
      responses: Object.assign({ Problem: problemAnswer() }, ...routes.map(({ form }) => formAnswer(form))) as Json,
    },
  };
}

/**
 * The schemas of the document, made in one conversion: those with a name, and those of routes,
 * which refer to them. Bodies are described by what clients can send, answers by what is returned;
 * a name that both use means the same in both.
 */
function convertSchemas(routes: readonly Route[]): { schemas: Json; toSchema: ToSchema } {
  const used = routes.flatMap(({ body, answers }) =>
    [body, ...Object.values(answers).map(({ schema }) => schema)].flatMap((schema) => schema ?? []),
  );
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(COMPONENTS)) registry.add(schema, { id });
  registry.add(z.tuple(used as [z.ZodType]), { id: 'OfRoutes' });
  const { schemas } = z.toJSONSchema(registry, { ...AS_SENT, uri: (id) => COMPONENT_PREFIX + id });
  const { OfRoutes, ...named } = schemas;
  return {
    schemas: Object.fromEntries(Object.entries(named).map(([id, schema]) => [id, withoutIdentity(schema)])),
    toSchema: (schema) => OfRoutes?.prefixItems?.[used.indexOf(schema)] as Json,
  };
}

type ToSchema = (schema: z.ZodType) => Json;

function withoutIdentity({ $schema: _schema, $id: _id, ...rest }: Json): Json {
  return rest;
}

function buildOperation(route: Route, toSchema: ToSchema): Json {
  const { operationId } = route;
  return {
    summary: route.summary,
    description: descriptionOfRoute(route),
    operationId,
    tags: [chooseTag(route)],
    ...(route.isPublic === true ? { security: [] } : {}),
    parameters: listParameters(route),
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: !route.body.safeParse({}).success,
            content: jsonContent(toSchema(route.body)),
          },
        }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.answers).map(([status, doc]) => [status, buildAnswer(Number(status), doc, toSchema)]),
      ),
      default: { $ref: `#/components/responses/${route.form?.errorName ?? 'Problem'}` },
    },
  };
}

/**
 * The parameters of the path, the query and the headers, each with its description and the schema
 * of its value.
 */
export function listParameters(route: Route): Json[] {
  const inPath = namesIn(route.path).map((name) => {
    const { description, schema } = PATH_PARAMETERS[name];
    return { name, in: 'path', required: true, description, schema };
  });
  const query = route.query instanceof z.ZodObject ? (route.query.shape as Record<string, z.ZodType>) : {};
  const inQuery = Object.entries(query).map(([name, part]) => {
    const { description, ...schema } = withoutIdentity(z.toJSONSchema(part, AS_SENT));
    const value = valueOf(part);
    return {
      name,
      in: 'query',
      required: false,
      description,
      // The values of a list follow one name, separated by commas.
      ...(value?.['type'] === 'array' ? { style: 'form', explode: false } : {}),
      schema: value ?? schema,
    };
  });
  const headers = { ...route.headers, ...(route.method === 'POST' ? { 'Idempotency-Key': IDEMPOTENCY_KEY } : {}) };
  const inHeader = Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
  return [...inPath, ...inQuery, ...inHeader];
}

function valueOf(schema: z.ZodType): Json | undefined {
  return VALUES.get(schema) ?? (schema instanceof z.ZodOptional ? valueOf(schema.unwrap() as z.ZodType) : undefined);
}

const IDEMPOTENCY_KEY =
  '1 to 200 visible ASCII characters; the same key with the same body gives the first answer again';

function buildAnswer(status: number, doc: AnswerDoc, toSchema: ToSchema): Json {
  const { description, contentType = 'application/json' } = doc;
  if (doc.schema !== undefined) {
    return { description, content: { [contentType]: { schema: toSchema(doc.schema) } } };
  }
  if (doc.contentType !== undefined) {
    return { description, content: { [contentType]: { schema: { type: 'string' } } } };
  }
  if (status >= 400) return { ...problemAnswer(), description };
  return { description };
}

function problemAnswer(): Json {
  return {
    description: `What is wrong; code is one of ${Object.keys(PROBLEMS).join(', ')}`,
    content: { 'application/problem+json': { schema: { $ref: `${COMPONENT_PREFIX}Problem` } } },
  };
}

/** The errors of a foreign form, by their name. */
function formAnswer(form: Route['form']): Json {
  if (form === undefined) return {};
  const schema = { $ref: COMPONENT_PREFIX + form.errorName };
  return { [form.errorName]: { description: form.errorText, content: jsonContent(schema) } };
}

function descriptionOfRoute({ summary, method, query }: Route): string {
  const isList = query instanceof z.ZodObject && 'cursor' in query.shape;
  return [
    `${summary}.`,
    ...(isList ? ['The answer is a page; `nextCursor` leads to the next one.'] : []),
    ...(method === 'POST'
      ? ['With an Idempotency-Key the effect happens once, and a retry gets the first answer.']
      : []),
  ].join(' ');
}

function jsonContent(schema: unknown): Json {
  return { 'application/json': { schema } };
}

function chooseTag(route: Route): string {
  return /^\/v1\/([a-z-]+)/.exec(route.path)?.[1] ?? 'service';
}
