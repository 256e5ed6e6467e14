// The document is made of the route table, so what can be wrong is the making.
import { describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/api/openapi.ts';
import { ROUTES } from '../../src/api/route-table.ts';

interface Operation {
  operationId: string;
  parameters: { name: string; in: string }[];
  responses: Record<string, unknown>;
  security?: unknown[];
  requestBody?: { required: boolean };
}

const document = openApiDocument(ROUTES) as {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties?: object; required?: string[] }> };
};
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

describe('openapi.json', () => {
  test('is OpenAPI 3.1 and has every route', () => {
    expect(document.openapi).toBe('3.1.0');
    for (const route of ROUTES) expect(document.paths[route.path]?.[route.method.toLowerCase()]).toBeDefined();
    expect(operations).toHaveLength(ROUTES.length);
  });

  test('has no reference that leads nowhere', () => {
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

  test('says what a message must have', () => {
    expect(document.components.schemas['InboundMessage']?.required).toEqual(['text']);
    expect(document.components.schemas['InboundMessage']).toMatchObject({ additionalProperties: false });
    const post = document.paths['/v1/sessions/{key}/messages']?.['post'];
    expect(post?.requestBody).toMatchObject({ required: true });
    expect(Object.keys(post?.responses ?? {})).toEqual(['200', '202', '429', 'default']);
  });

  test('says which paths need no key', () => {
    const open = ROUTES.filter(
      (route) => document.paths[route.path]?.[route.method.toLowerCase()]?.security !== undefined,
    );
    expect(open.map((route) => route.path)).toEqual(['/healthz', '/readyz', '/']);
  });
});
