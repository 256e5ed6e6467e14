import fc from 'fast-check';
import { DOMParser } from 'linkedom';
import { expect, test } from 'vitest';
import {
  explainRun,
  listWorst,
  shortenResult,
  writeJUnit,
  writeMarkdown,
} from '../../../../src/features/evaluations/rules/reports.ts';
import { comparisonOf, evaluationOf, resultOf, runOf, summaryOf, TURN_ID } from './evaluation-of.ts';

const results = [
  resultOf(2, { before: true, after: false }),
  resultOf(5, { before: false, after: false }),
  resultOf(1, { before: true, after: true }),
  resultOf(7, { before: null, after: null }),
];

const parse = (xml: string) => new DOMParser().parseFromString(xml, 'text/xml');

test('JUnit has a suite for each candidate beside the baseline and a case for each item, with the reasons of those that failed', () => {
  const page = parse(writeJUnit(evaluationOf(), results));
  const suites = [...page.querySelectorAll('testsuite')];
  const counts = ['name', 'tests', 'failures', 'skipped', 'time'];
  expect(suites.map((suite) => counts.map((name) => suite.getAttribute(name)))).toEqual([
    ['after', '4', '2', '1', '3.750'],
  ]);
  const [failed, , passed, skipped] = [...(suites[0]?.querySelectorAll('testcase') ?? [])];
  expect([failed?.getAttribute('classname'), failed?.getAttribute('name')]).toEqual(['refunds.after', '#2 question 2']);
  expect(failed?.querySelector('failure')?.getAttribute('message')).toBe(
    'run 1 answered. equal failed: expected "yes", got "no"',
  );
  expect(failed?.querySelector('failure')?.textContent).toContain(`no\nits steps: holdfast turns show ${TURN_ID}`);
  expect([passed?.children.length, skipped?.querySelector('skipped') !== null]).toEqual([0, true]);
  expect(suites[0]?.querySelector('property[name=verdict]')?.getAttribute('value')).toBe('unknown');
});

test('a run that diverged or failed says where and why', () => {
  const divergence = { step: 2, kind: 'call', expected: 'read({"path":"a"})', got: 'read({"path":"b"})' } as const;
  expect(explainRun(runOf(false, { status: 'diverged', divergence, grades: [] }), 'equal')).toBe(
    'run 1 diverged. Step 2: read({"path":"b"}); recorded: read({"path":"a"}).',
  );
  const error = { code: 'model_not_found', message: 'No such model.' };
  expect(explainRun(runOf(false, { status: 'failed', error, grades: [] }), 'equal')).toBe(
    'run 1 failed. model_not_found: No such model.',
  );
  const grades = [
    { name: 'cost', pass: null, score: 0.01, reason: 'It cost $0.0100.' },
    { name: 'equal', pass: true, score: 1, reason: 'It is "yes".' },
  ];
  expect(explainRun(runOf(true, { grades }), 'equal')).toBe(
    'run 1 answered. equal passed: It is "yes". cost: It cost $0.0100.',
  );
});

test('Markdown has the candidates with their verdicts, and the worst items with the commands that show their turns', () => {
  const worse = comparisonOf({ verdict: 'worse', text: 'Worse: 4 items no longer pass.' });
  const text = writeMarkdown(
    evaluationOf({ results: [summaryOf('before'), summaryOf('after', { comparison: worse, diverged: 3 })] }),
    results,
  );
  const lines = text.split('\n');
  expect(lines[0]).toBe('### <code>shorter prompt</code>: worse');
  expect(lines.filter((line) => line.includes('after') && line.includes('worse'))).toEqual([
    '| <code>after</code> | 90 % | 70 % to 97 % | **worse** <code>Worse&#58; 4 items no longer pass&#46;</code> | 3 | 0 | $0.1200 | 1.5 |',
  ]);
  expect(lines.filter((line) => line.includes('turns show'))).toEqual([
    `| 2 <code>question 2</code> | passed | failed | \`holdfast turns show ${TURN_ID}\` |`,
    `| 5 <code>question 5</code> | failed | failed | \`holdfast turns show ${TURN_ID}\` |`,
  ]);
});

test('the worst items are those that became worse or have not passed', () => {
  expect(listWorst(results).map(({ n }) => n)).toEqual([2, 5]);
  expect(listWorst([resultOf(1, { only: false }), resultOf(2, { only: true })]).map(({ n }) => n)).toEqual([1]);
});

test('a result for reports keeps the beginnings of replies alone', () => {
  const long = resultOf(1, { before: [runOf(true, { reply: 'x'.repeat(1_000_000), calls: ['a'] })] });
  const short = shortenResult({ ...long, recorded: 'y'.repeat(1_000_000) });
  expect(JSON.stringify(short).length).toBeLessThan(5_000);
});

/** Signs that have a meaning in one of the formats, or are not allowed in it. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...'<>&"\'|\\`*_[]()#@!~$-]]>'.split(''),
        ']]>',
        '</code>',
        '<img src=x>',
        '![a](http://b.c)',
        '@all',
        '\n| --- |',
        '\r\n',
        '\t',
      ),
      fc.constantFrom(
        '\u0000',
        '\u0007',
        '\u001b[2J',
        '\ufffe',
        '\ud800',
        '\udfff',
        '\u202e',
        '💥',
        'www.example.com',
        'a',
      ),
      fc.string({ unit: 'binary' }),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((parts) => parts.join(''));

test('no word of a model or a person changes the form of a report', () => {
  fc.assert(
    fc.property(hostile, (words) => {
      const grades = [{ name: 'equal', pass: false, score: 0, reason: words }];
      const error = { code: words, message: words };
      const divergence = { step: 1, kind: 'call', expected: words, got: words } as const;
      const run = runOf(false, { reply: words, grades, error, divergence });
      const shown = [resultOf(1, { before: true, after: [run] }, { input: words })];
      const evaluation = evaluationOf({
        name: words,
        results: [summaryOf('before'), summaryOf('after', { comparison: comparisonOf({ text: words }) })],
      });
      const xml = writeJUnit(evaluation, shown);
      // eslint-disable-next-line no-control-regex
      expect(xml).not.toMatch(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u);
      const page = parse(xml);
      const names = ['testsuites', 'testsuite', 'properties', 'property', 'testcase', 'failure', '*'];
      expect(names.map((name) => page.querySelectorAll(name).length)).toEqual([1, 1, 1, 3, 1, 1, 8]);
      const lines = writeMarkdown(evaluation, shown).split('\n');
      expect(lines.length).toBe(
        writeMarkdown(evaluationOf(), [resultOf(1, { before: true, after: false })]).split('\n').length,
      );
      const bare = lines.map((line) =>
        line
          .replaceAll(/<code>[\p{L}\p{N} &#;,?'%()/=+-]*<\/code>|`holdfast [\w -]+`/gu, '')
          .replaceAll(/<\/?(?:details|summary)>/g, ''),
      );
      expect(bare.filter((line) => /[<>`[\]@!]/.test(line))).toEqual([]);
      expect(new Set(bare.filter((line) => line.startsWith('|')).map((line) => line.split('|').length))).toEqual(
        new Set([6, 10]),
      );
    }),
  );
});
