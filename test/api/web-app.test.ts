// How the dashboard is served: without a key, compressed, cached by its file names, and with
// headers that block third-party content.
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gzipSync, gunzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DOOR } from '../../scripts/all-routes.ts';
import { createApi } from '../../src/api/create-api.ts';
import { SCREENS } from '../../src/api/web-app.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();
const PAGE = '<!doctype html><title>Holdfast</title>';
const SCRIPT = 'export const big = 1;'.repeat(100);
let folder: string;
let built: FastifyInstance;
let unbuilt: FastifyInstance;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-web-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), PAGE);
  await writeFile(join(folder, 'assets', 'app-1a2b.js'), SCRIPT);
  await writeFile(join(folder, 'assets', 'app-1a2b.js.br'), brotliCompressSync(SCRIPT));
  await writeFile(join(folder, 'assets', 'app-1a2b.js.gz'), gzipSync(SCRIPT));
  await cp(join(folder, 'index.html'), join(folder, 'secret.txt'));
  built = createApi(holder.rig.context, DOOR, { webDist: folder });
  unbuilt = createApi(holder.rig.context, DOOR, { webDist: join(folder, 'nothing') });
});
afterAll(async () => {
  await Promise.all([built.close(), unbuilt.close()]);
  await rm(folder, { recursive: true });
});

test('the paths of screens return the page without a key, and other paths require one (G32)', async () => {
  const screens = ['/', ...SCREENS.flatMap((screen) => [`/${screen}`, `/${screen}/anything/below`])];
  for (const url of screens) {
    const answer = await built.inject({ url });
    expect([answer.statusCode, answer.body]).toEqual([200, PAGE]);
  }
  for (const url of ['/nowhere', '/secret.txt', '/assets/other.js', '/assets/../secret.txt', '/turnsx']) {
    expect((await built.inject({ url })).statusCode).toBe(401);
  }
});

test('a page is never cached, and can load and request nothing but its own service', async () => {
  const { headers } = await built.inject({ url: '/turns' });
  expect(headers).toMatchObject({
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  });
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
});

test('a file with a hashed name is cached permanently, and sent in the encoding that the browser prefers', async () => {
  const url = '/assets/app-1a2b.js';
  const ask = (accept?: string) =>
    built.inject({ url, headers: accept === undefined ? {} : { 'accept-encoding': accept } });
  const [plain, gzip, brotli, refused] = [await ask(), await ask('gzip'), await ask('gzip, br'), await ask('br;q=0')];
  expect(plain.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  });
  expect(plain.body).toBe(SCRIPT);
  expect(String(gunzipSync(gzip.rawPayload))).toBe(SCRIPT);
  expect(String(brotliDecompressSync(brotli.rawPayload))).toBe(SCRIPT);
  expect(refused.headers['content-encoding']).toBeUndefined();
  const head = await built.inject({ method: 'HEAD', url });
  expect([head.statusCode, head.body]).toEqual([200, '']);
});

test('without a build, the page names the command that makes it, and the API works', async () => {
  const answer = await unbuilt.inject({ url: '/' });
  expect(answer.statusCode).toBe(200);
  expect(answer.body).toContain('npm run build:web');
  expect((await unbuilt.inject({ url: '/healthz' })).statusCode).toBe(200);
});
