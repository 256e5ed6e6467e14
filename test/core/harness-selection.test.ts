// The table of harness selection.
import { describe, expect, test } from 'vitest';
import { selectHarness, type HarnessCandidate, type HarnessPolicy } from '../../src/core/harness-selection.ts';

const AUTO: HarnessPolicy = { runtime: 'auto', fallback: 'built-in' };

function harness(id: string, isSupporting = true, priority = 0): HarnessCandidate {
  return { id, isSupporting, priority };
}

describe('selectHarness', () => {
  test.each<[string, Partial<HarnessPolicy>, HarnessCandidate[], ReturnType<typeof selectHarness>]>([
    [
      'pinned comes before everything else',
      { pinned: 'codex', runtime: 'built-in' },
      [harness('codex', false), harness('other', true, 9)],
      { kind: 'chosen', id: 'codex', reason: 'pinned' },
    ],
    [
      'the built-in may be pinned',
      { pinned: 'built-in', runtime: 'codex' },
      [harness('codex')],
      { kind: 'chosen', id: 'built-in', reason: 'pinned' },
    ],
    [
      'one that is pinned has no fallback',
      { pinned: 'codex', fallback: 'built-in' },
      [],
      { kind: 'missing', id: 'codex', reason: 'pinned' },
    ],
    [
      'the built-in is forced',
      { runtime: 'built-in' },
      [harness('codex')],
      { kind: 'chosen', id: 'built-in', reason: 'forced_built_in' },
    ],
    [
      "a plugin's is forced, whatever it supports",
      { runtime: 'codex' },
      [harness('codex', false), harness('other', true, 9)],
      { kind: 'chosen', id: 'codex', reason: 'forced_plugin' },
    ],
    [
      'one that is forced and not there falls back',
      { runtime: 'codex' },
      [harness('other')],
      { kind: 'chosen', id: 'built-in', reason: 'forced_plugin_fallback' },
    ],
    [
      'unless there is to be no fallback',
      { runtime: 'codex', fallback: 'none' },
      [harness('other')],
      { kind: 'missing', id: 'codex', reason: 'forced_plugin' },
    ],
    [
      'auto takes one that supports the model',
      {},
      [harness('a', false, 9), harness('b')],
      { kind: 'chosen', id: 'b', reason: 'auto_plugin' },
    ],
    [
      'the highest priority first',
      {},
      [harness('a', true, 1), harness('b', true, 2)],
      { kind: 'chosen', id: 'b', reason: 'auto_plugin' },
    ],
    [
      'ties by id, in whatever order they were registered',
      {},
      [harness('c', true, 2), harness('b', true, 2)],
      { kind: 'chosen', id: 'b', reason: 'auto_plugin' },
    ],
    [
      'auto without support falls back',
      {},
      [harness('a', false)],
      { kind: 'chosen', id: 'built-in', reason: 'auto_fallback' },
    ],
    [
      'auto falls back even where a forced one would not',
      { fallback: 'none' },
      [],
      { kind: 'chosen', id: 'built-in', reason: 'auto_fallback' },
    ],
  ])('%s', (_title, policy, candidates, choice) => {
    expect(selectHarness({ ...AUTO, ...policy }, candidates)).toEqual(choice);
  });
});
