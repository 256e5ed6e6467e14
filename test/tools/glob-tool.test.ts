// The glob tool on a real file system, and the bounds that keep a pattern from blocking the
// process.
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { faultOfGlobPattern, findLiteralPrefix, globTool } from '../../src/tools/glob-tool.ts';
import { aToolCall } from './tool-call.ts';
import { contentOf, createWorkspace, type Workspace } from './workspace.ts';

let workspace: Workspace;

beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(() => workspace.remove());

async function glob(input: Record<string, unknown>): Promise<string> {
  const outcome = await globTool.run(input, aToolCall({ workspaceDir: workspace.dir }));
  return contentOf(outcome).replaceAll(`${workspace.dir}/`, '');
}

/** Files of increasing age, so that they are listed in this order. */
async function files(...paths: string[]): Promise<void> {
  for (const [index, path] of paths.entries()) {
    const full = join(workspace.dir, path);
    await mkdir(dirname(full), { recursive: true });
    await writeFile(full, '');
    await utimes(full, 1_000_000 - index, 1_000_000 - index);
  }
}

test('matching files are returned newest first', async () => {
  await files('b.ts', 'src/deep/a.ts', 'src/c.md');
  expect(await glob({ pattern: '**/*.ts' })).toBe('b.ts\nsrc/deep/a.ts');
});

test('a pattern and a path can be combined', async () => {
  await files('src/a.ts', 'test/a.ts', 'src/deep/b.tsx');
  expect(await glob({ pattern: '**/*.{ts,tsx}', path: 'src' })).toBe('src/a.ts\nsrc/deep/b.tsx');
  expect(await glob({ pattern: 'test/*.ts' })).toBe('test/a.ts');
  expect(await glob({ pattern: 'src/a.ts' })).toBe('src/a.ts');
});

test('node_modules and .git are not searched', async () => {
  await files('node_modules/a.ts', '.git/b.ts', 'c.ts');
  expect(await glob({ pattern: '**/*.ts' })).toBe('c.ts');
});

test('nothing found says so', async () => {
  expect(await glob({ pattern: '*.none' })).toBe('no matches');
});

test('more than 200 matches are cut with a note (G28)', async () => {
  await files(...Array.from({ length: 210 }, (_, index) => `f${index}.txt`));
  const lines = (await glob({ pattern: '*.txt' })).split('\n');
  expect(lines).toHaveLength(201);
  expect(lines.at(-1)).toBe('[10 older matches left out]');
});

test('an abort ends the walk with its reason', async () => {
  await files('a.ts');
  const call = aToolCall({ workspaceDir: workspace.dir, signal: AbortSignal.abort(new Error('stop')) });
  await expect(globTool.run({ pattern: '**' }, call)).rejects.toThrow('stop');
});

describe('confinement (G30)', () => {
  test.each([
    ['a path that climbs out', { pattern: '*', path: '../outside' }],
    ['an absolute path outside', { pattern: '*', path: '/etc' }],
    ['a pattern that climbs out', { pattern: '../outside/*' }],
    ['a pattern that climbs out in braces', { pattern: '{..,a}/outside/*' }],
    ['an absolute pattern', { pattern: '/etc/*' }],
    ['a pattern that names a symlink out', { pattern: 'link/*' }],
    ['a path that is a symlink out', { pattern: '*', path: 'link' }],
  ])('%s is refused', async (_title, input) => {
    await symlink(workspace.outsideDir, join(workspace.dir, 'link'));
    const outcome = await globTool.run(input, aToolCall({ workspaceDir: workspace.dir }));
    expect(outcome.isError).toBe(true);
    expect(outcome.content).not.toContain('secret');
  });

  test.each(['**/*.txt', 'l*k/*', '[l]ink/*.txt', '{link,a}/*.txt'])(
    '%s does not follow a symlink out',
    async (pattern) => {
      await symlink(workspace.outsideDir, join(workspace.dir, 'link'));
      expect(await glob({ pattern })).toBe('no matches');
    },
  );
});

describe('the cost of a pattern is bounded (G28)', () => {
  test.each([
    '{a,b}'.repeat(6),
    '{1..100000}',
    '*a*a*a*a*b',
    '*{x,/}*{x,/}*{x,/}*',
    '+(a|aa)b',
    '**/a/'.repeat(5),
    `${'a'.repeat(501)}`,
    'a\\*b',
    'a\0b',
  ])('%j is refused', (pattern) => {
    expect(faultOfGlobPattern(pattern)).toEqual(expect.any(String));
  });

  test.each([
    '**/*.{ts,tsx,js,jsx,mjs,cjs}',
    '{src,test,web}/**/*.{ts,tsx}',
    'a-*-b-*-c.*',
    'file(1).txt',
    '**',
    '[a-z]?.md',
    'a..b',
    '...',
  ])('%s is accepted', (pattern) => {
    expect(faultOfGlobPattern(pattern)).toBeUndefined();
  });

  // Measured in CPU time of this process, which other programs do not change.
  test('the most expensive accepted pattern does not block the process', async () => {
    await files(`${'a/'.repeat(39)}${'a'.repeat(200)}`);
    const before = process.cpuUsage();
    await glob({ pattern: `${'**/*a*a/'.repeat(4)}*a*a*b` });
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(2_000);
  });
});

test('the literal part of a pattern ends before its first wildcard', () => {
  expect(findLiteralPrefix('src/tools/**/*.ts')).toBe('src/tools');
  expect(findLiteralPrefix('src/a.ts')).toBe('src');
  expect(findLiteralPrefix('*.ts')).toBe('');
  expect(findLiteralPrefix('{a,b}/c')).toBe('');
});
