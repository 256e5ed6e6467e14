// The reference of the configuration explains every key and every variable, and the examples of the
// pages are accepted as they stand.
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentOf, loadConfig } from '../src/config.ts';
import { configKeys } from '../scripts/references/config-keys.ts';
import { configReference } from '../scripts/references/config-reference.ts';
import { codeBlocks, readPage, ROOT, tableRows } from './docs/read-page.ts';

const reference = configReference();

test('every key and every variable has a meaning', () => {
  const rows = [
    ...tableRows(reference, ['key', 'type', 'default', 'meaning']),
    ...tableRows(reference, ['variable', 'default', 'meaning']),
  ];
  expect(rows.length).toBeGreaterThan(configKeys().length);
  expect(rows.filter((cells) => (cells.at(-1) ?? '').length < 5)).toEqual([]);
});

test('every variable that the configuration reads is a row, and no row names another variable', () => {
  const sources = globSync('src/config/*.ts', { cwd: join(import.meta.dirname, '..') })
    .map(readPage)
    .join('\n');
  const read = new Set(
    sources
      .match(/'(?:HOLDFAST|ANTHROPIC|DATABASE|REDIS|OPENAI|GOOGLE|GEMINI|XAI|OPENROUTER|BRAVE|TAVILY|EXA)_[A-Z_]+'/g)
      ?.map((name) => name.slice(1, -1)),
  );
  const rows = tableRows(reference, ['variable', 'default', 'meaning']).flatMap(([names = '']) =>
    names.replaceAll('`', '').split(', '),
  );
  expect(rows.toSorted()).toEqual([...read].toSorted());
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
