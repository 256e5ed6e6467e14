// Texts for people are ordinary English. The words that are not, with what to write instead, are
// the table of docs/style.md: it is read here, and searched for in the pages, in the strings of the
// source and in its comments. Test titles are not searched.
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');

interface Word {
  instead: string;
  write: string;
  pattern: RegExp;
}

interface Text {
  /** The file and the line. */
  where: string;
  text: string;
}

const words = read('docs/style.md').split('\n').flatMap(readWord);

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/**
 * The rows of the table: `| instead of | write | pattern |`, with a `|` in a pattern written `\|`.
 */
function readWord(line: string): Word[] {
  const [, instead = '', write = '', pattern = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
  const source = /^`(.+)`$/.exec(pattern)?.[1]?.replaceAll(String.raw`\|`, '|');
  return source === undefined ? [] : [{ instead, write, pattern: new RegExp(source, 'iu') }];
}

/** The prose of a page, line by line: without code, and without the titles of tests. */
function textsOfPage(file: string): Text[] {
  const blanks = (code: string): string => code.replaceAll(/[^\n]/g, '');
  const prose = read(file)
    .replaceAll(/^```[\s\S]*?^```/gm, blanks)
    .replaceAll(/`[^`\n]*`/g, '')
    .replaceAll(/ › .*?(?=<br>| \||$)/gm, '');
  return prose.split('\n').map((text, index) => ({ where: `${file}:${index + 1}`, text }));
}

/**
 * The strings and the comments of a source that have a space. Of SQL, only the strings in it: its
 * names are judged elsewhere.
 */
function textsOfSource(file: string): Text[] {
  const source = read(file);
  const texts: Text[] = [];
  const search = (text: string, at: number): void => {
    const where = `${file}:${source.slice(0, at).split('\n').length}`;
    const own = isSql(text) ? (text.replaceAll(/--.*$/gm, '').match(/'[^'\n]*'/g) ?? []) : [text];
    for (const one of own) if (/\S\s+\S/.test(one)) texts.push({ where, text: one.replaceAll(/\s+/g, ' ') });
  };
  const visitor = new Visitor({
    Literal(node) {
      if (typeof node.value === 'string') search(node.value, node.start);
    },
    TemplateElement(node) {
      search(node.value.cooked ?? '', node.start);
    },
  });
  const { program, comments } = parseSync(file, source);
  visitor.visit(program);
  // Names of code in a comment stand in backticks.
  for (const { value, start } of comments)
    search(value.replaceAll(/`[^`\n]*`/g, '').replaceAll(/\n\s*\* ?/g, ' '), start);
  return texts;
}

function isSql(text: string): boolean {
  return /\bas \(|\bholdfast\.|\bselect\b[\s\S]*\bfrom\b|^\/\* |\bjson_build_object\(/.test(text);
}

function faultsIn(texts: readonly Text[]): string[] {
  return texts.flatMap(({ where, text }) =>
    words.filter(({ pattern }) => pattern.test(text)).map(({ write }) => `${where}: "${text.trim()}": write ${write}`),
  );
}

test('the table has a pattern for each word, which finds it', () => {
  expect(words.length).toBeGreaterThan(10);
  const missed = words.filter(({ instead, pattern }) =>
    [...instead.matchAll(/`([^`]+)`/g)].some(([, word = '']) => !pattern.test(word)),
  );
  expect(missed).toEqual([]);
});

test('no page is written in dialect', () => {
  const pages = globSync(['*.md', 'docs/*.md', 'docs/how-to/*.md', 'test/*.md', 'scripted-model/*.md'], { cwd: ROOT });
  expect(faultsIn(pages.flatMap(textsOfPage))).toEqual([]);
});

test('no error, log message or other text of the source is written in dialect', () => {
  const files = globSync('{src,workers,jobs,demo,scripted-model,scripted-platform}/**/*.ts', { cwd: ROOT });
  expect(files.length).toBeGreaterThan(100);
  expect(faultsIn(files.toSorted().flatMap(textsOfSource))).toEqual([]);
});
