// Goal: `holdfast/client` is usable where nothing else of the repository is: in a browser, in Node,
// and compiled into a package. Method: the compiler checks a program that uses it under the
// libraries of both, and compiles it; the result runs in a process without what only Node has.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

const PROGRAM = `
import { createClient, HoldfastError, type ClientEvent, type Schemas } from 'holdfast/client';
const client = createClient({ url: 'http://127.0.0.1:7420', key: 'x' });
export async function use(): Promise<string | undefined> {
  const turn: Schemas['Turn'] = await client.getTurn({ id: 'x' });
  for await (const { why } of client.each('listTurns', { status: ['parked'] })) if (why !== null) return why?.code;
  for await (const event of client.events({ types: ['turn.ended'], after: '1' })) {
    const seen: ClientEvent = event;
    if (seen.type === 'turn.ended') return seen.status;
    if (event.type === 'reset') return undefined;
  }
  const lines: ReadableStream<Uint8Array> = await client.getBatchResults({ id: 'x' });
  await client.postBatches({ dryRun: true, body: lines });
  // @ts-expect-error There is no such status.
  await client.listTurns({ status: ['asleep'] });
  // @ts-expect-error The id is missing.
  await client.getTurn({});
  return turn.error?.code;
}
export const isMissing = (error: unknown): boolean => error instanceof HoldfastError && error.code === 'not_found';
`;

/** A folder in which the package is installed, as far as a checkout is one. */
async function project(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-client-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'node_modules'));
  await symlink(ROOT, join(folder, 'node_modules/holdfast'));
  await mkdir(join(folder, 'node_modules/@types'));
  for (const name of ['node', 'undici-types']) {
    const place = name === 'node' ? '@types/node' : name;
    await symlink(join(ROOT, 'node_modules', place), join(folder, 'node_modules', place));
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

async function compile(folder: string, compilerOptions: object, files: string[]): Promise<string> {
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  return run(join(ROOT, 'node_modules/.bin/tsc'), ['--project', folder]).then(
    () => '',
    (error: Error & { stdout?: string }) => error.stdout ?? error.message,
  );
}

test.each([
  ['a browser', { lib: ['es2024', 'dom'], types: [], module: 'esnext', moduleResolution: 'bundler' }],
  ['Node', { lib: ['es2024'], types: ['node'], module: 'nodenext' }],
])('a program that uses the client compiles for %s', async (_where, options) => {
  const folder = await project({ 'program.ts': PROGRAM, 'package.json': '{"type": "module"}' });
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  const common = { target: 'es2024', noEmit: true, allowImportingTsExtensions: true };
  expect(await compile(folder, { ...strict, ...common, ...options }, ['program.ts'])).toBe('');
});

test('the example of the page compiles', async () => {
  const page = await readFile(join(ROOT, 'docs/client.md'), 'utf8');
  const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
  expect(example).toContain("from 'holdfast/client'");
  const folder = await project({ 'example.ts': example, 'package.json': '{"type": "module"}' });
  const options = {
    target: 'es2024',
    lib: ['es2024'],
    types: ['node'],
    module: 'nodenext',
    noEmit: true,
    strict: true,
  };
  expect(await compile(folder, { ...options, allowImportingTsExtensions: true }, ['example.ts'])).toBe('');
});

/** Runs the compiled files in a context with the globals of browsers and none of Node's own. */
const WITHOUT_NODE = `
import { readFileSync } from 'node:fs';
import vm from 'node:vm';
const names = 'fetch Headers Response ReadableStream Blob URLSearchParams TextDecoder AbortController AbortSignal ' +
  'setTimeout clearTimeout performance crypto';
const context = vm.createContext(Object.fromEntries(names.split(' ').map((name) => [name, globalThis[name]])));
const modules = new Map();
function load(url) {
  const known = modules.get(url.href);
  if (known !== undefined) return known;
  const made = new vm.SourceTextModule(readFileSync(url, 'utf8'), { context, identifier: url.href });
  modules.set(url.href, made);
  return made;
}
const entry = load(new URL('./client/create-client.js', import.meta.url));
await entry.link((specifier, from) => load(new URL(specifier, from.identifier)));
await entry.evaluate();
const client = entry.namespace.createClient({ url: process.argv[2], retriesMax: 0 });
const said = [(await client.getHealth()).status, await client.getTurn({ id: 'x' }).catch((error) => error.code)];
for await (const { id, type } of client.events()) if (said.push(id, type) > 3) break;
process.stdout.write(JSON.stringify([...said, vm.runInContext('typeof process + typeof Buffer', context)]));
`;

test('the compiled client runs without anything that only Node has', async () => {
  const folder = await project({ 'program.mjs': WITHOUT_NODE, 'package.json': '{"type": "module"}' });
  const options = {
    target: 'es2024',
    lib: ['es2024', 'dom'],
    types: [],
    module: 'nodenext',
    strict: true,
    rewriteRelativeImportExtensions: true,
    declaration: true,
    rootDir: join(ROOT, 'src'),
    outDir: folder,
  };
  expect(await compile(folder, options, [join(ROOT, 'src/client/create-client.ts')])).toBe('');
  const server = createServer(({ url }, response) => {
    if (url === '/healthz') return void response.end('{"status": "ok"}');
    if (url !== '/v1/events') return void response.writeHead(404).end('{"code": "not_found"}');
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .write('id: 9007199254740993\ndata: {"type": "a"}\n\n');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { stdout } = await run(process.execPath, ['--experimental-vm-modules', join(folder, 'program.mjs'), url]);
  expect(JSON.parse(stdout)).toEqual(['ok', 'not_found', '9007199254740993', 'a', 'undefinedundefined']);
});

test('a checkout gives the client by the name of the package', async () => {
  const entry = 'holdfast/client';
  const { createClient } = (await import(entry)) as { createClient: unknown };
  expect(createClient).toBeTypeOf('function');
});
