// The OpenAPI 3.1 document, made of the route table and its schemas. OpenAPI 3.1 speaks JSON Schema 2020-12, which is what zod
// writes, so the schemas go in as they are.
import { z } from 'zod';
import { PROBLEMS } from './problem.ts';
import type { AnswerDoc, Route } from './route.ts';
import { COMPONENTS } from './schemas/components.ts';
import { webhooksDocument } from './schemas/webhooks.ts';

type Json = Record<string, unknown>;

const COMPONENT_PREFIX = '#/components/schemas/';

const PATH_PARAMETERS: Record<string, Json> = {
  key: {
    type: 'string',
    description: 'Session key; agent:main: is put in front of a key without agent:',
    maxLength: 211,
  },
  id: { type: 'string', format: 'uuid' },
  runId: { type: 'string', format: 'uuid' },
  n: { type: 'integer', minimum: 1 },
};

/** The document of these routes. */
export function openApiDocument(routes: Route[]): Json {
  const schemas = componentSchemas();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version: '1',
      description: 'Durable worker service for agents. Errors are application/problem+json with a stable code.',
    },
    security: [{ key: [] }],
    paths,
    webhooks: webhooksDocument(),
    components: {
      schemas,
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      responses: { Problem: problemAnswer() },
    },
  };
}

/** Named schemas; a body is described by what may be sent, an answer by what comes. None of them differ in both directions. */
function componentSchemas(): Json {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(COMPONENTS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => COMPONENT_PREFIX + id,
    io: 'input',
    unrepresentable: 'any',
  });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutIdentity(schema)]));
}

function schemaOf(schema: z.ZodType): Json {
  const name = Object.entries(COMPONENTS).find(([, component]) => component === schema)?.[0];
  if (name !== undefined) return { $ref: COMPONENT_PREFIX + name };
  if (schema instanceof z.ZodObject) {
    // A page or another small object: written out, with its parts by their names.
    const shape = Object.entries(schema.shape as Record<string, z.ZodType>);
    return {
      type: 'object',
      properties: Object.fromEntries(shape.map(([field, part]) => [field, schemaOf(part)])),
      required: shape.filter(([, part]) => !part.safeParse(undefined).success).map(([field]) => field),
      additionalProperties: false,
    };
  }
  if (schema instanceof z.ZodArray) return { type: 'array', items: schemaOf(schema.element as z.ZodType) };
  return withoutIdentity(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
}

function withoutIdentity(schema: object): Json {
  const { $schema: _schema, $id: _id, ...rest } = schema as Json;
  return rest;
}

function operationOf(route: Route): Json {
  return {
    summary: route.summary,
    operationId: operationIdOf(route),
    tags: [tagOf(route)],
    ...(route.isPublic === true ? { security: [] } : {}),
    parameters: parametersOf(route),
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: !route.body.safeParse({}).success, content: jsonContent(schemaOf(route.body)) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(route.answers).map(([status, doc]) => [status, answerOf(Number(status), doc)]),
      ),
      default: { $ref: '#/components/responses/Problem' },
    },
  };
}

function parametersOf(route: Route): Json[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: PATH_PARAMETERS[name] ?? { type: 'string' },
  }));
  const query = route.query instanceof z.ZodObject ? (route.query.shape as Record<string, z.ZodType>) : {};
  const inQuery = Object.entries(query).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema: schemaOf(schema),
  }));
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

const IDEMPOTENCY_KEY =
  '1 to 200 visible ASCII characters; the same key with the same body gives the first answer again';

function answerOf(status: number, doc: AnswerDoc): Json {
  if (doc.schema !== undefined) return { description: doc.description, content: jsonContent(schemaOf(doc.schema)) };
  if (doc.contentType !== undefined) {
    return { description: doc.description, content: { [doc.contentType]: { schema: { type: 'string' } } } };
  }
  if (status >= 400) return { ...problemAnswer(), description: doc.description };
  return { description: doc.description };
}

function problemAnswer(): Json {
  return {
    description: `What is wrong; code is one of ${Object.keys(PROBLEMS).join(', ')}`,
    content: { 'application/problem+json': { schema: { $ref: `${COMPONENT_PREFIX}Problem` } } },
  };
}

function jsonContent(schema: Json): Json {
  return { 'application/json': { schema } };
}

/** `POST /v1/sessions/{key}/messages` is `postSessionsMessages`. */
function operationIdOf(route: Route): string {
  const words = route.path
    .replace(/^\/v1\//, '/')
    .replaceAll(/\{(\w+)\}/g, 'by-$1')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
  return route.method.toLowerCase() + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('');
}

function tagOf(route: Route): string {
  return /^\/v1\/([a-z-]+)/.exec(route.path)?.[1] ?? 'service';
}
