import { afterEach, expect, test } from 'vitest';
import { logConsoleWarnings } from '../../src/cli/console-warnings.ts';

let end: () => void = () => undefined;
afterEach(() => end());

test('a warning that a library repeats at every call is one line of the log', () => {
  const lines: unknown[] = [];
  end = logConsoleWarnings({ warn: (facts: object, message?: string) => void lines.push({ ...facts, message }) });
  for (let call = 1; call <= 3; call += 1) console.warn('The model %s is deprecated', 'old');
  console.warn('Another text');
  expect(lines).toEqual([
    { warning: 'The model old is deprecated', message: 'A library printed a warning' },
    { warning: 'Another text', message: 'A library printed a warning' },
  ]);
});

test('texts that are always new do not fill the log', () => {
  const lines: unknown[] = [];
  end = logConsoleWarnings({ warn: (facts: object) => void lines.push(facts) });
  for (let call = 1; call <= 1_000; call += 1) console.warn(`call ${call}`);
  expect(lines).toHaveLength(100);
});
