// docs/configuration.md lists what the configuration has: every key with its type and default, every variable, and an example that is
// accepted as it stands.
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentOf, loadConfig } from '../src/config.ts';
import { RELOADABLE_PATHS } from '../src/config/reloadable.ts';
import { configKeys } from '../scripts/references/config-keys.ts';
import { codeBlocks, readPage, ROOT, tableRows } from './docs/read-page.ts';

const page = readPage('docs/configuration.md');

test('every key of the file is a row with its type and default, and no row names another key', () => {
  const rows = tableRows(page, ['key', 'type', 'default', 'meaning']).map(
    ([key, type, value]) => `${key} | ${type} | ${value}`,
  );
  const keys = configKeys().map(
    ({ key, type, default: value }) => `\`${key}\` | ${type} | ${value === 'none' ? value : `\`${value}\``}`,
  );
  expect(rows.toSorted()).toEqual(keys.toSorted());
});

test('every key has a meaning', () => {
  const rows = [
    ...tableRows(page, ['key', 'type', 'default', 'meaning']),
    ...tableRows(page, ['variable', 'default', 'meaning']),
  ];
  expect(rows.filter((cells) => (cells.at(-1) ?? '').length < 5)).toEqual([]);
});

test('every variable that the configuration reads is a row, and no row names another variable', () => {
  const sources = globSync('src/config/*.ts', { cwd: join(import.meta.dirname, '..') })
    .map(readPage)
    .join('\n');
  const read = new Set(
    sources.match(/'(?:HOLDFAST|ANTHROPIC|DATABASE|REDIS)_[A-Z_]+'/g)?.map((name) => name.slice(1, -1)),
  );
  const rows = tableRows(page, ['variable', 'default', 'meaning']).map(([name]) => name?.replaceAll('`', '') ?? '');
  expect(rows.toSorted()).toEqual([...read].toSorted());
});

test('the defaults of the variables are those of an empty environment', () => {
  const { runtime } = loadConfig({ env: {}, cwd: '/', isTty: false });
  const defaults = new Map(tableRows(page, ['variable', 'default', 'meaning']).map(([name, value]) => [name, value]));
  expect(defaults.get('`HOLDFAST_HOST`')).toBe(`\`${runtime.host}\``);
  expect(defaults.get('`HOLDFAST_PORT`')).toBe(`\`${runtime.port}\``);
  expect(defaults.get('`HOLDFAST_LEASE_MS`')).toBe(`\`${runtime.leaseMs}\``);
  expect(defaults.get('`HOLDFAST_RECONCILE_MS`')).toBe(`\`${runtime.reconcileMs}\``);
  expect(defaults.get('`HOLDFAST_LOG_LEVEL`')).toBe(`\`${runtime.logLevel}\``);
});

test.each(['docs/configuration.md', 'README.md'])('the configuration that %s shows is accepted', (path) => {
  const blocks = codeBlocks(readPage(path)).filter(({ language }) => language === 'json5');
  expect(blocks.length).toBeGreaterThan(0);
  for (const { code } of blocks) {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-config-'));
    try {
      const file = join(folder, 'holdfast.json');
      writeFileSync(file, code);
      const config = loadConfig({ env: { HOLDFAST_CONFIG: file }, cwd: folder, isTty: false });
      expect(agentOf(config, 'main').workspaceDir).toBe(join(folder, 'agents/main'));
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
});

const shown = globSync(['README.md', '{docs,examples,scripted-model}/**/*.md'], { cwd: ROOT }).flatMap((page) =>
  codeBlocks(readPage(page))
    .filter(({ language }) => language === 'json5')
    .map(({ title, code }) => [`${page} › ${title}`, code] as const),
);

test.each(shown)('the configuration of %s is accepted', (_name, code) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-config-'));
  try {
    const file = join(folder, 'holdfast.json');
    writeFileSync(file, code);
    expect(() => loadConfig({ env: { HOLDFAST_CONFIG: file }, cwd: folder, isTty: false })).not.toThrow();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the page lists every part of the configuration that can be read again, and no other', () => {
  const rows = tableRows(page, ['setting', 'effect']).flatMap(([parts = '']) =>
    [...parts.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
  );
  expect(rows.toSorted()).toEqual([...RELOADABLE_PATHS].toSorted());
});
