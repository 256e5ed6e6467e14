// docs/alerts.yml, docs/grafana/holdfast.json and docs/runbooks.md fit together: each alert has its
// section, and names metrics that exist. Their commands are run by
// test/cli/readme-examples.test.ts, their SQL by test/service/operators-drill.test.ts.
import { expect, test } from 'vitest';
import { metricNames, namedMetrics } from './docs/metric-names.ts';
import { readPage } from './docs/read-page.ts';

const rules = readPage('docs/alerts.yml')
  .split(/^ {6}- alert: /m)
  .slice(1);
const page = readPage('docs/runbooks.md');
const sections = [...page.matchAll(/^## (Holdfast\w+)$/gm)].map(([, title = '']) => title);

test('each of the seventeen alerts has an expression, a severity and its section of the runbooks', () => {
  const names = rules.map((rule) => rule.split('\n', 1)[0] ?? '');
  expect(names).toHaveLength(17);
  expect(sections).toEqual(names);
  for (const [at, rule] of rules.entries()) {
    expect(rule).toMatch(/^ {8}expr: '.*holdfast_.*'$/m);
    expect(rule).toMatch(/^ {10}severity: (?:critical|warning)$/m);
    expect(rule).toMatch(/^ {10}summary: '.+'$/m);
    expect(rule).toContain(`          runbook_url: docs/runbooks.md#${names[at]?.toLowerCase()}\n`);
  }
});

test.each(sections)('the runbook of %s says what it means, how to look, and what to do', (title) => {
  const section = page.split(`## ${title}\n`)[1]?.split(/^## /m)[0] ?? '';
  for (const part of ['**Means.**', '**Look.**', '**Do.**']) expect(section).toContain(part);
  expect(section).toMatch(/^```(?:sh|sql)$/m);
});

test.each(['docs/alerts.yml', 'docs/grafana/holdfast.json', 'docs/runbooks.md'])(
  'every metric in %s exists',
  (file) => {
    const named = namedMetrics(readPage(file));
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((name) => !metricNames.has(name))).toEqual([]);
  },
);

test('each panel of the dashboard has a title and an expression of its own', () => {
  const { panels } = JSON.parse(readPage('docs/grafana/holdfast.json')) as {
    panels: { id: number; type: string; title: string; targets?: { expr: string }[] }[];
  };
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  for (const { title, type, targets = [] } of panels) {
    expect(title).not.toBe('');
    expect(targets.length > 0).toBe(type !== 'row');
  }
});

test('every code of a model call in the runbooks is one of the source', () => {
  const source = readPage('src/core/failure.ts') + readPage('src/features/overview/rules/attention.ts');
  const codes = new Set(page.match(/`model_[a-z_]+`/g));
  expect([...codes].filter((code) => !source.includes(`'${code.slice(1, -1)}'`))).toEqual([]);
});
