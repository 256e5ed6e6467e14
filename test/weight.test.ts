// The service and the dashboard do not grow unnoticed: their lines of code are those of
// scripts/weight.json, or fewer.
import { expect, test } from 'vitest';
import { codeLines, countLines, storedWeight } from '../scripts/weight.ts';

test.each(['serviceLines', 'dashboardLines'] as const)('%s are no more than stored', (lines) => {
  const counted = countLines()[lines];
  const stored = storedWeight()[lines];
  expect(
    counted,
    `${lines}: ${counted} are ${counted - stored} more than scripts/weight.json allows. Delete something, or raise the number ` +
      `in the same commit (npm run weight -- --write) and say why in its body: a repair with its test, or a new promise.`,
  ).toBeLessThanOrEqual(stored);
});

test('a line counts if something other than a comment or white space stands on it', () => {
  const source = [
    '// A comment.',
    '/* One',
    '',
    '   of several lines. */ const url = "http://a"; // A place.',
    'const text = `',
    '  -- http://b /* no comment */',
    '`;',
    '',
    "const quote = /['//*]/;",
    '/** What follows. */',
    'const last = 1;',
  ].join('\n');
  expect(codeLines('some.ts', source)).toBe(6);
  expect(codeLines('some.css', '/* One\n line. */\n\na {\n  color: red; /* so */\n}\n')).toBe(3);
});
