// The README is short and true, and so are the pages of docs/: what they link to exists, and so do
// the commands, scripts, variables and files that they name.
import { existsSync, globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { CHAPTERS } from '../demo/chapters.ts';
import { buildProgram } from '../src/cli/program.ts';
import { FEATURES } from '../src/features.ts';
import { codeBlocks, readPage } from './docs/read-page.ts';

const ROOT = resolve(import.meta.dirname, '..');
const LINES_MAX = 190;
const LINE_CHARS_MAX = 160;
/** What fits on a screen before anything is scrolled. */
const FIRST_SCREEN_LINES = 36;

const readme = readPage('README.md');
const pages = globSync(['*.md', '{docs,scripted-model,examples,test}/**/*.md'], { cwd: ROOT });
const instructions = globSync(['README.md', 'docs/*.md', 'docs/how-to/*.md', 'scripted-model/README.md'], {
  cwd: ROOT,
});
const instructionText = instructions.map(readPage).join('\n');

describe('the README', () => {
  test(`has at most ${LINES_MAX} lines`, () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(LINES_MAX);
  });

  test(`has no line over ${LINE_CHARS_MAX} characters`, () => {
    expect(readme.split('\n').filter((line) => line.length > LINE_CHARS_MAX)).toEqual([]);
  });

  test('says on its first screen what it does, how it is installed, how a first message is sent and what shows that it works', () => {
    const screen = readme.split('\n').slice(0, FIRST_SCREEN_LINES).join('\n');
    expect(screen).toMatch(/^# Holdfast\n\nHoldfast runs LLM agents as a service: you send messages over HTTP/);
    expect(codeBlocks(screen).map(({ code }) => code)).toEqual([
      'npm ci\nnpm start\n# holdfast   http://127.0.0.1:7420\n',
      expect.stringMatching(/^npx holdfast send main "Hello"/),
      expect.stringMatching(/^npm ci && npm run demo +# .*\nnpm ci && npm test +# .*\n$/),
    ]);
    expect(screen).toContain('## What you get');
  });

  test.each(['Temporal', 'DBOS', 'BullMQ'])('says when to use %s instead', (peer) => {
    expect(sectionOf(readme, 'When to use something else')).toContain(`[${peer}](https://`);
  });

  test('names every page of the documentation', () => {
    const topics = globSync(['docs/*.md', 'docs/how-to/*.md'], { cwd: ROOT });
    expect(topics.filter((page) => !readme.includes(`](${page})`))).toEqual([]);
  });
});

test('every link in a page of the repository leads to something', () => {
  const dead = pages.flatMap((page) =>
    [...readPage(page).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)]
      .map((match) => match[1] ?? '')
      .filter((target) => !/^https?:/.test(target) && !existsSync(join(ROOT, page, '..', target)))
      .map((target) => `${page} -> ${target}`),
  );
  expect(dead).toEqual([]);
});

test('every link to a heading leads to a heading', () => {
  const dead = pages.flatMap((page) =>
    [...readPage(page).matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)]
      .filter(
        ([, target = '', anchor = '']) =>
          !anchorsOf(join(page, '..', target === '' ? page.replace(/^.*\//, '') : target)).includes(anchor),
      )
      .map((match) => `${page} -> ${match[0]}`),
  );
  expect(dead).toEqual([]);
});

test('every npm script that a page names exists', () => {
  const { scripts } = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> };
  const named = [...instructionText.matchAll(/npm (?:run )?(start|test|[a-z]+:?[a-z-]*)\b/g)].map(
    (match) => match[1] ?? '',
  );
  // Of npm itself, and "npm then prints".
  const others = ['ci', 'then', 'pack', 'install'];
  expect(named.filter((name) => scripts[name] === undefined && !others.includes(name))).toEqual([]);
});

test('every command line on a page is one', async () => {
  const program = await buildProgram(FEATURES, () => {});
  const typed = [...instructionText.matchAll(/npx holdfast ([^\n`]+)/g)].map((match) => match[1] ?? '');
  expect(typed.length).toBeGreaterThan(20);
  expect(typed.filter((line) => !isCommandLine(program, line))).toEqual([]);
});

test('every variable that a page names is read somewhere', () => {
  const sources = globSync(['src/**/*.ts', 'test/**/*.ts', 'examples/**/*.mjs'], {
    cwd: ROOT,
    exclude: ['test/readme.test.ts'],
  })
    .map(readPage)
    .join('\n');
  const named = new Set(instructionText.match(/\b(?:HOLDFAST|ANTHROPIC)_[A-Z_]+\b/g));
  expect([...named].filter((name) => !sources.includes(name))).toEqual([]);
});

test('the changelog has a section for the version of the package, with its date', () => {
  const { version } = JSON.parse(readPage('package.json')) as { version: string };
  expect(readPage('CHANGELOG.md')).toMatch(new RegExp(`^## \\[${version}\\] - \\d{4}-\\d{2}-\\d{2}$`, 'm'));
});

describe('the picture of the demo', () => {
  const picture = readPage('docs/demo.svg');
  const chapter = CHAPTERS.findIndex(({ id }) => id === 'take-over');

  test('shows a chapter as the demo prints it', () => {
    expect(picture).toContain(`${chapter + 1}. ${CHAPTERS[chapter]?.title}`);
    const checks =
      readPage('demo/take-over.ts')
        .match(/^ +'([a-z][^']{20,})',$/gm)
        ?.map((line) => line.trim().slice(1, -2)) ?? [];
    expect(checks.length).toBeGreaterThan(2);
    for (const check of checks) expect(picture).toContain(check);
  });

  test('is readable in light and in dark mode, and loads nothing', () => {
    expect(picture).toContain('@media (prefers-color-scheme: dark)');
    expect(picture.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|url\(|<image|<script|href/);
  });
});

function sectionOf(page: string, title: string): string {
  return page.split(/^## /m).find((section) => section.startsWith(`${title}\n`)) ?? '';
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(path: string): string[] {
  return [...readPage(path).matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/**
 * True when the line names a command, not only a group of them, and options that it has; all else
 * is for the command itself.
 */
function isCommandLine(program: Command, line: string): boolean {
  let command = program;
  for (const word of line.split(/\s+/)) {
    if (word.startsWith('<') || word === '||') return true;
    if (word.startsWith('--')) {
      const options = [...command.options, ...program.options];
      if (!options.some((option) => option.long === word)) return false;
      continue;
    }
    command = command.commands.find((child) => child.name() === word) ?? command;
  }
  return command.commands.length === 0;
}
