// The README stays true: what it links to exists, what it tells people to type exists, and so do the variables and keys that it names.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { buildProgram } from '../src/cli/program.ts';
import { defaultSettings } from '../src/config/defaults.ts';

const ROOT = resolve(import.meta.dirname, '..');
const readme = read('README.md');
const commandLines = [...readme.matchAll(/npx holdfast ([^\n`]+)/g)].map((match) => match[1] ?? '');

test('every link in a page of the repository leads to something', () => {
  const pages = globSync(['*.md', '{docs,scripted-model,examples,test}/**/*.md'], { cwd: ROOT });
  const dead = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)]
      .map((match) => match[1] ?? '')
      .filter((target) => !/^https?:/.test(target) && !existsSync(join(ROOT, page, '..', target)))
      .map((target) => `${page} -> ${target}`),
  );
  expect(dead).toEqual([]);
});

test('every npm script that the README names exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = [...readme.matchAll(/npm (?:run )?(start|test|[a-z]+:?[a-z]*)\b/g)].map((match) => match[1] ?? '');
  const npmsOwn = ['ci'];
  expect(named.filter((name) => scripts[name] === undefined && !npmsOwn.includes(name))).toEqual([]);
});

test('every command line of the README is one', () => {
  const program = buildProgram(() => {});
  expect(commandLines.length).toBeGreaterThan(5);
  expect(commandLines.filter((line) => !isCommandLine(program, line))).toEqual([]);
});

test('every command has its line in the README', () => {
  const missing = buildProgram(() => {})
    .commands.map((command) => command.name())
    .filter((name) => !new RegExp(`^\\| \`${name}[ \`]`, 'm').test(readme));
  expect(missing).toEqual([]);
});

test('every variable that the README names is read somewhere', () => {
  const sources = globSync(['src/**/*.ts', 'test/**/*.ts'], { cwd: ROOT, exclude: ['test/readme.test.ts'] })
    .map(read)
    .join('\n');
  const named = new Set(readme.match(/\b(?:HOLDFAST|ANTHROPIC)_[A-Z_]+\b/g));
  expect([...named].filter((name) => !sources.includes(name))).toEqual([]);
});

test('every key of the table of the configuration is one', () => {
  const section = /### Configuration file\n([\s\S]*?)\n## /.exec(readme)?.[1] ?? '';
  const firstCells = [...section.matchAll(/^\| (`[^|]+) \|/gm)].map((match) => match[1] ?? '');
  expect(firstCells.length).toBeGreaterThan(10);
  const settings = { ...defaultSettings('/workspace'), workspace: { path: '/workspace', bootstrapFiles: [] } };
  const unknown = firstCells.flatMap((cell) => {
    const [first = '', ...siblings] = [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
    const parent = first.slice(0, first.lastIndexOf('.'));
    return [first, ...siblings.map((sibling) => parent + sibling)].filter((key) => !hasKey(settings, key));
  });
  expect(unknown).toEqual([]);
});

/** Keys without a default, which only the schema knows. */
const WITHOUT_DEFAULT = [
  'tools.allow',
  'agents.defaults.systemPromptOverride',
  'channels.<name>',
  'owner.phone',
  'owner.displaySecret',
];

function hasKey(settings: unknown, key: string): boolean {
  if (WITHOUT_DEFAULT.includes(key)) return true;
  let value = settings;
  for (const name of key.split('.')) {
    if (typeof value !== 'object' || value === null || !(name in value)) return false;
    value = (value as Record<string, unknown>)[name];
  }
  return true;
}

/** True when the line names a command, not only a group of them, and options that it has; all else is for the command itself. */
function isCommandLine(program: Command, line: string): boolean {
  let command = program;
  for (const word of line.split(/\s+/)) {
    if (word.startsWith('<')) return true;
    if (word.startsWith('--')) {
      if (!command.options.some((option) => option.long === word)) return false;
      continue;
    }
    command = command.commands.find((child) => child.name() === word) ?? command;
  }
  return command.commands.length === 0;
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}
