// Goal: the types that a third-party generator makes from the OpenAPI document fit the requests of
// the API. Method: generate them, write every request of the README as a value of its type, and let
// the compiler check the file; then requests that do not fit.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import openapiTypes, { type OpenAPI3 } from 'openapi-typescript';
import { expect, onTestFinished, test } from 'vitest';
import { openApiDocument } from '../../src/api/openapi.ts';
import { ROUTES } from '../../scripts/all-routes.ts';

const ROOT = resolve(import.meta.dirname, '../..');

interface Request {
  method: string;
  path: string;
  /** The body as it is sent, as JSON text. */
  body: string;
  headers: Record<string, string>;
}

/** The requests that the README makes with curl, with its variables filled in. */
async function readmeRequests(): Promise<Request[]> {
  const readme = (await readFile(join(ROOT, 'README.md'), 'utf8')).replaceAll('\\\n', ' ');
  const variables = [...readme.matchAll(/^(\w+)=["']?(.*?)["']?$/gm)].map(([, name = '', value = '']) => ({
    name,
    value,
  }));
  return [...readme.matchAll(/^curl [^]*?(?=\n\n|\n#|\n```)/gm)].map(([typed]) => {
    const line = variables.reduce((text, { name, value }) => text.replaceAll(`$${name}`, value), typed);
    const body = / -d '([^']*)'/.exec(line)?.[1];
    const headers = [...line.matchAll(/ -H ["']([\w-]+): ([^'"]*)/g)].map(([, name = '', value = '']) => [name, value]);
    return {
      method: / -X (\w+)/.exec(line)?.[1] ?? (body === undefined ? 'GET' : 'POST'),
      path: /http:\/\/127\.0\.0\.1:7420([^\s'"?]*)/.exec(line)?.[1] ?? '',
      body: body ?? '',
      headers: Object.fromEntries(headers) as Record<string, string>,
    };
  });
}

/** What the commands of the README send, as far as they have a body. */
const SENT_BY_COMMANDS: [path: string, body: string][] = [
  ['/v1/sessions/{key}/messages', '{"text": "It rains: come in. [[reply: I am in.]]", "mode": "interrupt"}'],
  ['/v1/sessions/{key}/reset', '{}'],
  [
    '/v1/crons',
    '{"name": "tea", "schedule": {"kind": "cron", "expr": "0 16 * * 1-5", "tz": "Europe/Berlin"}, "payload": {"kind": "agentTurn", "message": "Time for tea."}}',
  ],
  ['/v1/sessions/{key}/spawn', '{"task": "Count the files."}'],
  ['/v1/sessions/{key}/system-events', '{"text": "The deploy has ended."}'],
];

/** The route of the table that a path belongs to. */
function templateOf(method: string, path: string): string {
  const route = ROUTES.find(
    (one) => one.method === method && new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  if (route === undefined) throw new Error(`there is no route ${method} ${path}`);
  return route.path;
}

const bodyOf = (template: string): string =>
  `NonNullable<paths['${template}']['post']['requestBody']>['content']['application/json']`;

/** The compiler's errors about these statements with the generated types; empty: there are none. */
async function check(statements: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-types-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  // Generated from the same JSON that a client downloads.
  const document = JSON.parse(JSON.stringify(openApiDocument(ROUTES))) as OpenAPI3;
  await writeFile(join(folder, 'api.ts'), await openapiTypes(document));
  await writeFile(
    join(folder, 'requests.ts'),
    [
      "import type { components, operations, paths } from './api.ts';",
      'export type Used = [components, operations, paths];',
      ...statements,
    ].join('\n'),
  );
  const compilerOptions = {
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    module: 'nodenext',
    types: [],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['requests.ts'] }));
  const ended = promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['--project', folder]);
  return ended.then(
    () => '',
    (error: Error & { stdout?: string }) => error.stdout ?? error.message,
  );
}

test('types that another generator makes of the document fit every request of the README', async () => {
  const requests = await readmeRequests();
  expect(requests.length).toBe(5);
  for (const { method, path } of requests) expect(templateOf(method, path)).toMatch(/^\/v1\//);
  const bodies = [
    ...requests
      .filter(({ body }) => body !== '')
      .map(({ method, path, body }) => [templateOf(method, path), body] as const),
    ...SENT_BY_COMMANDS,
  ];
  const headers = requests
    .filter(({ headers: { Prefer: prefer } }) => prefer !== undefined)
    .map(({ method, path, headers: { 'Idempotency-Key': key, Prefer: prefer } }, n) => {
      const type = `NonNullable<paths['${templateOf(method, path)}']['${method.toLowerCase()}']['parameters']['header']>`;
      return `export const header${n}: ${type} = ${JSON.stringify({ 'Idempotency-Key': key, Prefer: prefer })};`;
    });
  expect(headers.length).toBeGreaterThan(0);
  const statements = [
    ...bodies.map(([template, body], n) => `export const body${n}: ${bodyOf(template)} = ${body};`),
    ...headers,
    `export const page: NonNullable<operations['listTurns']['parameters']['query']> = { limit: 10, status: ['failed', 'aborted'] };`,
    `export const errorOf = (turn: components['schemas']['Turn']): string | undefined => turn.error?.code;`,
    `export const blockOf = (entry: components['schemas']['Entry']): string | undefined => entry.content[0]?.type;`,
    `export const idOf = (event: Extract<components['schemas']['LiveEvent'], { type: 'message.settled' }>): string => event.messageId;`,
  ];
  expect(await check(statements)).toBe('');
});

test('requests that do not fit are compiler errors', async () => {
  const message = bodyOf('/v1/sessions/{key}/messages');
  const said = await check([
    `export const a: ${message} = { txt: 'x' };`,
    `export const b: ${message} = { text: 'x', mode: 'shout' };`,
    `export const c: ${bodyOf('/v1/crons')} = { name: 'x' };`,
    `export const d: NonNullable<operations['listTurns']['parameters']['query']> = { limit: '10' };`,
    `export const e: NonNullable<operations['listTurns']['parameters']['query']> = { status: ['asleep'] };`,
  ]);
  for (const line of [3, 4, 5, 6, 7]) expect(said).toContain(`requests.ts(${line},`);
});
