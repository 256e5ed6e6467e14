import { describe, expect, test } from 'vitest';
import { CACHE_BOUNDARY, joinParts, ownPart } from '../../../src/prompt/prompt-parts.ts';
import {
  changeParts,
  changeSections,
  mergeChanges,
  NO_CHANGES,
  readPromptChanges,
} from '../../../src/prompt/read-contributions.ts';
import { joinSections, type WrittenSection } from '../../../src/prompt/system-prompt.ts';

const read = (value: unknown, plugin = 'p') => readPromptChanges(plugin, value).changes;
const promptOf = (...results: unknown[]): string =>
  joinParts(changeParts([ownPart('body', 'hi')], mergeChanges(results.map((result) => read(result))))).text;

describe('the text before a prompt', () => {
  test('is joined by blank lines in the order of the results', () => {
    expect(promptOf({ prependContext: 'A' }, undefined, { prependContext: 'B' })).toBe('A\n\nB\n\nhi');
  });

  test('is empty when no plugin adds something', () => {
    expect(promptOf(undefined, null, {}, { prependContext: ' \n' })).toBe('hi');
  });

  test('is known by its plugin', () => {
    const parts = changeParts([ownPart('body', 'hi')], read({ prependContext: 'A' }, 'memories'));
    expect(parts[0]).toEqual({ name: 'plugin-context', origin: 'plugin:memories', trust: 'trusted', text: 'A' });
  });
});

describe('a system prompt', () => {
  const SECTIONS: WrittenSection[] = [
    { name: 'identity', origin: 'holdfast', isStable: true, text: 'You are.' },
    { name: 'safety', origin: 'holdfast', isStable: true, text: 'Be good.' },
    { name: 'runtime', origin: 'holdfast', isStable: false, text: 'Now.' },
  ];
  const systemOf = (...results: unknown[]) =>
    joinSections(changeSections(SECTIONS, mergeChanges(results.map((result) => read(result))))).prompt;

  test('stays as it is when no plugin replaces it', () => {
    expect(changeSections(SECTIONS, NO_CHANGES)).toEqual(SECTIONS);
  });

  test('has the texts that plugins prepend above the boundary, and those that they append below', () => {
    expect(systemOf({ prependSystemContext: 'P', appendSystemContext: 'Q' }, { prependSystemContext: 'R' })).toEqual({
      stable: 'P\n\nR\n\nYou are.\nBe good.',
      dynamic: 'Now.\n\nQ',
    });
  });

  test('is replaced by that of the first plugin, with the texts of others before and after it', () => {
    expect(
      systemOf(
        { systemPrompt: 'first', prependSystemContext: 'P' },
        { systemPrompt: 'second', appendSystemContext: 'Q' },
      ),
    ).toEqual({ stable: 'P\n\nfirst', dynamic: 'Q' });
  });

  test('can be replaced by one with its own boundary; the result contains no marker', () => {
    const system = systemOf({
      systemPrompt: `stable\n${CACHE_BOUNDARY}\ndynamic ${CACHE_BOUNDARY}`,
      prependSystemContext: `${CACHE_BOUNDARY}P`,
      appendSystemContext: CACHE_BOUNDARY,
    });
    expect(system).toEqual({ stable: 'P\n\nstable', dynamic: 'dynamic' });
  });
});

describe('a result', () => {
  test('is made fit for JSON and the database', () => {
    expect(read({ prependContext: 'a\0b\ud800' }).prependContext).toEqual([{ plugin: 'p', text: 'ab\ufffd' }]);
  });

  test('with other fields is read, and they are named', () => {
    expect(readPromptChanges('p', { systemPrompt: 's', modelOverride: 'm' })).toMatchObject({
      changes: { systemPrompt: { text: 's' } },
      unknownFields: ['modelOverride'],
    });
  });

  test.each([
    ['no object', [], 'must be an object, not a list'],
    ['no text', { appendSystemContext: {} }, 'appendSystemContext: must be a text, not an object'],
    [
      'too much text',
      { systemPrompt: 'x'.repeat(400_001) },
      'systemPrompt: has 400001 characters, more than the 400000',
    ],
  ])('that is %s is refused by name', (_title, value, message) => {
    expect(() => read(value)).toThrow(expect.objectContaining({ code: 'bad_plugin_value' }));
    expect(() => read(value)).toThrow(message);
  });
});
