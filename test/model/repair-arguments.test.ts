import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { repairArguments } from '../../src/model/repair-arguments.ts';
import { processorMsOf } from '../servers/busy-machine.ts';

describe('arguments that are nearly JSON', () => {
  test.each<[string, object]>([
    ["{'path': 'a'}", { path: 'a' }],
    ['{path: "a", n: 1}', { path: 'a', n: 1 }],
    ['{"a": True, "b": None}', { a: true, b: null }],
    ['{"path":"a",}', { path: 'a' }],
    ['{"a":1 "b":2}', { a: 1, b: 2 }],
    ['{"path":"a"}}', { path: 'a' }],
    ['{"path":"a"}]', { path: 'a' }],
    ['{"text":"two\nlines"}', { text: 'two\nlines' }],
    ['```json\n{"path":"a"}\n```', { path: 'a' }],
    ['Here are the arguments: {"path":"a"}', { path: 'a' }],
    ['"{\\"path\\":\\"a\\"}"', { path: 'a' }],
    ['{\\"path\\": \\"a\\"}', { path: 'a' }],
    ['{"command":"grep \\d+ \\$HOME", x: 1}', { command: 'grep \\d+ \\$HOME', x: 1 }],
    ['{"path":"C:\\work\\x"}', { path: 'C:\\work\\x' }],
    ['{"text":"she said "yes" to it"}', { text: 'she said "yes" to it' }],
  ])('%j become an object', (raw, object) => {
    expect(repairArguments(raw)).toEqual(object);
  });

  test.each([
    '{"path":"a", "unfinished": "',
    '{"command":"rm -rf /tmp/x/',
    '{"a":{"b":1}',
    '{"list":[1,2',
    '{"a":1} {"b":2}',
    '[1]',
    'nothing',
    '',
    'true',
    `${'x'.repeat(200)} {"path":"a"}`,
    '{"path":"a"} and then I will look at it',
    '{'.repeat(30_000) + '}'.repeat(30_000),
  ])('but are cut off, or something else, stay unread: %j', (raw) => {
    expect(repairArguments(raw)).toBeNull();
  });

  test('are not looked into when they are very long', () => {
    expect(repairArguments(`{text: "${'x'.repeat(70_000)}"}`)).toBeNull();
  });

  test('are never completed: arguments that are cut off anywhere are not read, unless they were complete', () => {
    const anyArguments = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue(), { minKeys: 1 });
    fc.assert(
      fc.property(anyArguments, fc.nat(), (value, cut) => {
        const raw = JSON.stringify(value);
        const piece = raw.slice(0, cut % raw.length);
        expect(repairArguments(piece)).toBeNull();
      }),
    );
  });

  test('are checked in little time, for any input', () => {
    const texts = [
      '{'.repeat(64_000),
      '{"a":"\\'.repeat(8_000),
      '{a:'.repeat(20_000),
      `{"a":${'"x" '.repeat(15_000)}}`,
    ];
    for (const text of texts) {
      expect(processorMsOf(() => repairArguments(text))).toBeLessThan(1000);
    }
  });
});
