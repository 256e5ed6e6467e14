// docs/api.md describes the API that there is: every route, every problem code with its status,
// every event with its fields, and every status and disposition, and nothing that is not there.
import { MESSAGE_STATUSES, TURN_STATUSES } from '../src/core/statuses.ts';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { openApiDocument } from '../src/api/openapi.ts';
import { PROBLEMS } from '../src/api/problem.ts';
import { ROUTES } from '../scripts/all-routes.ts';
import { accepted } from '../src/contract/answers.ts';

const page = readFileSync(resolve(import.meta.dirname, '../docs/api.md'), 'utf8');
const document = JSON.parse(JSON.stringify(openApiDocument(ROUTES))) as {
  components: { schemas: Record<string, { anyOf?: { properties: Record<string, { const?: string }> }[] }> };
};

/** The rows of the table whose first column has this head, as cells. */
function tableOf(head: string): string[][] {
  const [, after = ''] = page.split(`\n| ${head} |`);
  const [rows = ''] = after.slice(after.indexOf('\n|---')).split('\n\n');
  return rows
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** The names in backticks of a cell. */
function namesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}

function firstNames(head: string): string[] {
  return tableOf(head).flatMap(([first]) => namesIn(first));
}

test('every route of the API is in its table, and no other', () => {
  const routes = ROUTES.map(({ method, path }) => `${method} ${path}`);
  expect(firstNames('route').toSorted()).toEqual(routes.toSorted());
});

test('every filter that the table names is a query parameter of its route', () => {
  const unknown = tableOf('route').flatMap(([first, does = '']) => {
    const [, named = ''] = /filters (.*)$/.exec(does) ?? [];
    const route = ROUTES.find(({ method, path }) => `${method} ${path}` === namesIn(first)[0]);
    const schema = (route?.method === 'GET' ? route.query : route?.body) as { shape?: object } | undefined;
    return namesIn(named)
      .filter((name) => !Object.hasOwn(schema?.shape ?? {}, name))
      .map((name) => `${first}: ${name}`);
  });
  expect(unknown).toEqual([]);
});

test('every problem code is in its table with its status', () => {
  const rows = tableOf('`code`').map(([code, status]) => [namesIn(code)[0], Number(status)]);
  expect(Object.fromEntries(rows)).toEqual(
    Object.fromEntries(Object.entries(PROBLEMS).map(([code, { status }]) => [code, status])),
  );
});

test('every event is in its table with its fields', () => {
  const common = new Set(['type', 'sessionKey', 'turnId', 'at']);
  const variants = document.components.schemas['LiveEvent']?.anyOf ?? [];
  const expected = variants.map(({ properties }) => [
    properties['type']?.const,
    Object.keys(properties)
      .filter((name) => !common.has(name))
      .toSorted(),
  ]);
  const described = tableOf('`event`').map(([event, fields = '']) => [
    namesIn(event)[0],
    namesIn(fields.split(/: | that /)[0]).toSorted(),
  ]);
  expect(Object.fromEntries(described)).toEqual(Object.fromEntries(expected));
});

test('every status of a message and of a turn, and every disposition, is explained', () => {
  expect(firstNames('`status` of a message')).toEqual([...MESSAGE_STATUSES]);
  expect(firstNames('`status` of a turn').toSorted()).toEqual(TURN_STATUSES.toSorted());
  expect(firstNames('`disposition`').toSorted()).toEqual(accepted.shape.disposition.options.toSorted());
});

test('every public route is named as one', () => {
  const [, section = ''] = /## Authentication\n([\s\S]*?)\n## /.exec(page) ?? [];
  const [, named = ''] = /, except (.*)\. A path/.exec(section) ?? [];
  const open = ROUTES.filter((route) => route.isPublic === true).map(({ method, path }) =>
    `${method} ${path}`.replace('GET ', ''),
  );
  expect(namesIn(named).toSorted()).toEqual(open.toSorted());
});
