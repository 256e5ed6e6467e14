// The document is generated from the route table; these tests check the generation.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openApiDocument } from '../../src/api/openapi.ts';
import { ROUTES } from '../../scripts/all-routes.ts';
import { EVENT_TYPES } from '../../src/contract/events.ts';

const require = createRequire(import.meta.url);

interface Operation {
  operationId: string;
  parameters: { name: string; in: string }[];
  responses: Record<string, unknown>;
  security?: unknown[];
  requestBody?: { required: boolean; content: Record<string, { schema: object }> };
}

const document = openApiDocument(ROUTES) as {
  openapi: string;
  servers: object[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties?: object; required?: string[] }> };
};

/**
 * The document without its descriptions, one section for each operation, webhook and component, in
 * the order of their names.
 */
function structure(): string {
  const { paths, webhooks, components, ...head } = withoutDescriptions(document) as Record<
    string,
    Record<string, object>
  >;
  const sections = Object.entries({ head, ...paths, ...webhooks, ...components }).flatMap(([name, part]) =>
    Object.entries(part).map(([inner, value]) => linesOf(`${name} ${inner}`, value).join('\n')),
  );
  return `${sections.toSorted().join('\n\n')}\n`;
}

/**
 * `holder` is the keyword whose value this is: below `properties`, `description` is the name of a
 * field. A format has its pattern.
 */
function withoutDescriptions(value: unknown, holder = ''): unknown {
  if (Array.isArray(value)) return value.map((part) => withoutDescriptions(part));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(
        ([name]) => holder === 'properties' || (name !== 'description' && !(name === 'pattern' && 'format' in value)),
      )
      .map(([name, part]) => [name, withoutDescriptions(part, name)]),
  );
}

/**
 * The lines of a value: itself if it is short, or its scalars, and then each of its other parts in
 * lines of its own.
 */
function linesOf(name: string, value: unknown, indent = ''): string[] {
  const line = `${indent}${name} ${JSON.stringify(value)}`;
  if (line.length <= 120 || !hasParts(value)) return [line];
  const entries = Object.entries(value).map(([key, part]) => [Array.isArray(value) ? '-' : key, part] as const);
  const [[key, only] = ['', null], ...others] = entries;
  if (others.length === 0 && !Array.isArray(value)) return linesOf(`${name}.${key}`, only, indent);
  const scalars = entries.filter(([, part]) => !hasParts(part)).map(([key, part]) => ` ${key} ${JSON.stringify(part)}`);
  const parts = entries.filter(([, part]) => hasParts(part));
  return [indent + name + scalars.join(), ...parts.flatMap(([key, part]) => linesOf(key, part, `${indent}  `))];
}

/** True for an object, and for a list with objects. */
function hasParts(value: unknown): value is object {
  return typeof value === 'object' && value !== null && (!Array.isArray(value) || value.some(hasParts));
}

/** Calls back for every object of the document, with the path to it. */
function visit(value: unknown, at: string[], call: (value: object, at: string[]) => void): void {
  if (typeof value !== 'object' || value === null) return;
  call(value, at);
  for (const [name, part] of Object.entries(value)) visit(part, [...at, name], call);
}

interface Schema {
  $ref?: string;
  type?: string | string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
}

/** Every field of a schema and every parameter of a query. */
function allFields(): { at: string; name: string; schema: Schema; description: string; isRequired: boolean }[] {
  const fields: ReturnType<typeof allFields> = [];
  visit(document, [], (value, at) => {
    const { properties = {}, required = [] } = value as Schema;
    for (const [name, schema] of at.at(-1) === 'properties' ? [] : Object.entries(properties)) {
      const { description = '' } = schema;
      fields.push({ at: [...at, name].join('.'), name, schema, description, isRequired: required.includes(name) });
    }
    if (at.at(-2) !== 'parameters') return;
    const parameter = value as { name: string; in: string; schema: Schema; description: string; required: boolean };
    fields.push({ ...parameter, at: [...at.slice(0, -1), parameter.name].join('.'), isRequired: parameter.required });
  });
  return fields;
}

/** Undefined for a value of any type. */
function isNullable({ $ref, type, anyOf, oneOf, items }: Schema): boolean | undefined {
  if ($ref !== undefined) return isNullable(document.components.schemas[$ref.split('/').at(-1) ?? ''] as Schema);
  const variants = anyOf ?? oneOf;
  if (variants !== undefined) return variants.some((variant) => isNullable(variant) === true);
  if (items !== undefined && isNullable(items) === true) return true;
  return type === undefined ? undefined : [type].flat().includes('null');
}

const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

describe('openapi.json', () => {
  test('is OpenAPI 3.1 and has every route', () => {
    expect(document.openapi).toBe('3.1.0');
    for (const route of ROUTES) expect(document.paths[route.path]?.[route.method.toLowerCase()]).toBeDefined();
    expect(operations).toHaveLength(ROUTES.length);
  });

  // What clients depend on is in this file. A change of it is a change of the API; `vitest -u`
  // writes it.
  test('has the structure that clients know, apart from descriptions', async () => {
    await expect(structure()).toMatchFileSnapshot('openapi-structure.txt');
  });

  test('is valid for the lint of Redocly, whose rules are those of OpenAPI', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-openapi-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'openapi.json');
    await writeFile(file, JSON.stringify(document, null, 2));
    // In a folder of its own it finds no settings, and without these it asks servers on the
    // internet.
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [require.resolve('@redocly/cli/bin/cli.js'), 'lint', '--extends=spec', '--format=json', file],
      { cwd: folder, env },
    ).catch((failed: Error & { stdout: string }) => failed);
    expect((JSON.parse(stdout) as { problems: object[] }).problems).toEqual([]);
  });

  test('has no dangling reference', () => {
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g);
    let count = 0;
    for (const [, pointer = ''] of references) {
      const found = pointer
        .split('/')
        .reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document);
      expect(found, pointer).toBeDefined();
      count += 1;
    }
    expect(count).toBeGreaterThan(30);
  });

  test('names every parameter of every path, and no operation twice', () => {
    for (const route of ROUTES) {
      const operation = document.paths[route.path]?.[route.method.toLowerCase()];
      const named = operation?.parameters.filter((one) => one.in === 'path').map((one) => `{${one.name}}`);
      expect(named).toEqual(route.path.match(/\{\w+\}/g) ?? []);
    }
    const ids = operations.map((operation) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('names the required fields of a message', () => {
    expect(document.components.schemas['InboundMessage']?.required).toEqual(['text']);
    expect(document.components.schemas['InboundMessage']).toMatchObject({ additionalProperties: false });
    const post = document.paths['/v1/sessions/{key}/messages']?.['post'];
    expect(post?.requestBody).toMatchObject({ required: true });
    expect(Object.keys(post?.responses ?? {})).toEqual(['200', '202', '429', 'default']);
  });

  test('has a name and a description for every operation, parameter and field', () => {
    const bare: string[] = [];
    visit(document, [], (value, at) => {
      const isOperation = at.length === 3 && at[0] === 'paths';
      const isField = at.at(-2) === 'properties';
      const isParameter = at.at(-2) === 'parameters';
      const { description } = value as { description?: unknown };
      if ((isOperation || isField || isParameter) && (typeof description !== 'string' || description === ''))
        bare.push(at.join('.'));
    });
    expect(bare).toEqual([]);
  });

  test('says what null means of every field that may be null, and of no other', () => {
    const wrong = allFields().filter(({ schema, description }) => {
      const saysNull = /\bnull\b/i.test(description);
      return (isNullable(schema) ?? saysNull) !== saysNull;
    });
    expect(wrong.map(({ at, description }) => `${at}: ${description}`)).toEqual([]);
  });

  test('says of no required field what it means to leave it out', () => {
    const wrong = allFields().filter(({ description, isRequired }) => isRequired && /\babsent\b/i.test(description));
    expect(wrong.map(({ at, description }) => `${at}: ${description}`)).toEqual([]);
  });

  test('describes fields of different names differently, and each by more than its name', () => {
    const namesByText = Map.groupBy(allFields(), ({ description }) => description);
    const shared = [...namesByText].flatMap(([description, fields]) => {
      const names = [...new Set(fields.map(({ name }) => name))];
      const shortest = names.toSorted((one, other) => one.length - other.length)[0]?.toLowerCase() ?? '';
      // The `id` of a thing and its `messageId` elsewhere mean the same.
      return names.some((name) => !name.toLowerCase().endsWith(shortest))
        ? [`${names.join(', ')}: ${description}`]
        : [];
    });
    expect(shared).toEqual([]);
    const empty = allFields().filter(({ description }) => /^(?:an?|the|its) \w+(?:;|$)/i.test(description));
    expect(empty.map(({ at, description }) => `${at}: ${description}`)).toEqual([]);
  });

  test('has no untyped field, and gives the type of numbers and lists in a query', () => {
    const open: string[] = [];
    visit(document.components.schemas, [], (value, at) => {
      if (at.at(-2) !== 'properties') return;
      const { description: _description, ...says } = value as Record<string, unknown>;
      if (Object.keys(says).length === 0) open.push(at.join('.'));
    });
    expect(open).toEqual([]);
    const parameters = document.paths['/v1/turns']?.['get']?.parameters as unknown as {
      name: string;
      schema: object;
    }[];
    expect(parameters.find(({ name }) => name === 'limit')?.schema).toMatchObject({ type: 'integer' });
    expect(parameters.find(({ name }) => name === 'status')).toMatchObject({
      explode: false,
      schema: { type: 'array', items: { enum: expect.arrayContaining(['running', 'failed']) } },
    });
  });

  test('makes omittable request fields optional', () => {
    const bodyOf = (path: string): { required?: string[] } => {
      const schema = document.paths[path]?.['post']?.requestBody?.content['application/json']?.schema;
      const name = (schema as { $ref?: string }).$ref?.split('/').at(-1);
      return (name === undefined ? schema : document.components.schemas[name]) as { required?: string[] };
    };
    expect(bodyOf('/v1/sessions/{key}/system-events').required).toEqual(['text']);
    expect(bodyOf('/v1/sessions/{key}/reset').required ?? []).toEqual([]);
    expect(bodyOf('/v1/crons').required).toEqual(['schedule', 'payload']);
    expect(bodyOf('/v1/sessions/{key}/spawn').required).toEqual(['task']);
    expect(bodyOf('/v1/budgets').required).toEqual(['scope', 'per', 'limitUsd']);
  });

  test('has the server and every type of event', () => {
    expect(document.servers).toMatchObject([{ url: '/' }]);
    expect(openApiDocument(ROUTES, 'https://agents.example/')).toMatchObject({
      servers: [{ url: 'https://agents.example' }],
    });
    const types = JSON.stringify(document.components.schemas['LiveEvent']);
    for (const type of EVENT_TYPES) expect(types).toContain(JSON.stringify(type));
  });

  test('says which paths need no key', () => {
    const open = ROUTES.filter(
      (route) => document.paths[route.path]?.[route.method.toLowerCase()]?.security !== undefined,
    );
    expect(open.map((route) => route.path)).toEqual([
      '/healthz',
      '/readyz',
      '/v1/auth/sessions',
      // The platform signs it.
      '/v1/channels/{name}/{account}/webhook',
    ]);
  });
});
