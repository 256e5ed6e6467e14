// Compares the list of known models with the installed SDK, so that an upgrade of the SDK shows
// which models are new and which end.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CURRENT_MODEL, KNOWN_MODELS, knownModel } from '../../src/core/models.ts';

const SDK = join(import.meta.dirname, '../../node_modules/@anthropic-ai/sdk');
const read = (path: string): string => readFileSync(join(SDK, path), 'utf8');

/** The texts between single quotes of the first match of a pattern. */
function quotedIn(text: string, pattern: RegExp): string[] {
  return [...(pattern.exec(text)?.[1] ?? '').matchAll(/'([^']+)'/g)].map(([, quoted = '']) => quoted);
}

const namedModels = quotedIn(read('resources/messages/messages.d.ts'), /export type Model = ([^;]+);/);

test('every model that the types of the SDK name is known, and no other', () => {
  expect(namedModels.length).toBeGreaterThan(10);
  expect(Object.keys(KNOWN_MODELS).toSorted()).toEqual(namedModels.toSorted());
});

test('a model ends on the day that the SDK says, and the others have no end', () => {
  const lists = ['internal/data/deprecated-models.js', 'resources/messages/messages.js'].map((path) =>
    quotedIn(read(path), /DEPRECATED_MODELS = \{([^}]+)\}/),
  );
  const ends = lists.flatMap((quoted) => quoted.flatMap((name, at) => (at % 2 === 0 ? [[name, quoted[at + 1]]] : [])));
  expect(ends.length).toBeGreaterThan(2);
  const days = ends.map(([name, end]) => [name, dayOf(end ?? '')]);
  const known = Object.entries(KNOWN_MODELS).flatMap(([name, { end }]) => (end ? [[name, end.endsOn]] : []));
  expect(Object.fromEntries(known)).toEqual(Object.fromEntries(days));
});

test('models that the SDK warns about when they are given a budget think adaptively', () => {
  const warned = quotedIn(
    read('resources/messages/messages.js'),
    /MODELS_TO_WARN_WITH_THINKING_ENABLED = \[([^\]]+)\]/,
  );
  expect(warned).toContain('claude-opus-4-6');
  for (const model of warned) expect(knownModel(model)?.thinking.kind, model).toBe('adaptive');
});

test('the model that is recommended is known and has no end', () => {
  const known = knownModel(CURRENT_MODEL.replace('anthropic/', ''));
  expect(known).toBeDefined();
  expect(known?.end).toBeUndefined();
});

/** `November 30th, 2026` as `2026-11-30`. */
function dayOf(text: string): string {
  const date = new Date(`${text.replace(/(\d)(?:st|nd|rd|th)/, '$1')} UTC`);
  return date.toISOString().slice(0, 10);
}
