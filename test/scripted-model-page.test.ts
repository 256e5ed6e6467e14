// scripted-model/README.md lists every directive and every endpoint, and each directive is written
// as the parser reads it.
import { expect, test } from 'vitest';
import { parseScript } from '../scripted-model/parse-script.ts';
import { readPage, tableRows } from './docs/read-page.ts';

const page = readPage('scripted-model/README.md');
const directives = [
  ...tableRows(page, ['directive', 'adds to the answer']),
  ...tableRows(page, ['directive', 'effect']),
  ...tableRows(page, ['directive', 'the directives after it apply to']),
].flatMap((cells) => [...cells.join(' ').matchAll(/`(\[\[.*?\]\])`/g)].map((match) => match[1] ?? ''));

test('every directive that the parser knows is on the page', () => {
  const names = /\(([a-z]+(?:\|[a-z]+){10,})\)/.exec(readPage('scripted-model/read-directives.ts'))?.[1];
  const known = names?.split('|') ?? [];
  expect(known.length).toBeGreaterThan(10);
  expect(known.filter((name) => !directives.some((text) => text.startsWith(`[[${name}`)))).toEqual([]);
});

test.each(directives)('%s is read as a directive without a mistake', (directive) => {
  const script = parseScript([directive]);
  expect(script?.ownTexts).toEqual(['']);
  expect(JSON.stringify(script?.answers)).not.toContain('Script error');
});

test('every endpoint of the server is on the page', () => {
  const served = [
    ...readPage('scripted-model/scripted-model.ts').matchAll(/case '((?:GET|POST|PUT|DELETE) [^']+)'/g),
  ].map((match) => match[1] ?? '');
  const listed = tableRows(page, ['route', 'answers'])
    .map(([route]) => (route ?? '').replaceAll('`', '').replace(/\?.*$/, ''))
    // Those of message batches are in a file of their own.
    .filter((route) => !route.includes('/v1/messages/batches'));
  expect(listed.toSorted()).toEqual(served.toSorted());
});
