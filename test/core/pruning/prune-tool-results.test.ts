// Old tool results are pruned depending on the size of the context, and protected ones are kept.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContentBlock } from '../../../src/core/content.ts';
import { estimateTokens } from '../../../src/core/content-size.ts';
import { createHistory, type HistoryEntry } from '../../../src/history/prepare-history.ts';
import {
  applyPruning,
  decidePruning,
  type PruneMaterial,
  type PruningSettings,
} from '../../../src/history/prune-tool-results.ts';
import type { PruningView } from '../../../src/core/view.ts';

const PLACEHOLDER = '[compacted: tool output removed to free context]';
const settings: PruningSettings = {
  keepLastAssistants: 3,
  softTrimRatio: 0.3,
  hardClearRatio: 0.5,
  minPrunableToolChars: 50_000,
  softTrim: { maxChars: 4000, headChars: 1500, tailChars: 1500 },
  hardClear: { enabled: true, placeholder: PLACEHOLDER },
  tools: { allow: ['exec', 'read', 'web_*'], deny: ['memory_*', 'web_secret'] },
  contextTokens: 100_000,
};

type Step = { tool: string; chars: number; hasImage?: boolean };

/** A prompt and, per step, a call with its result; entries are numbered from 1. */
function materialOf(steps: readonly Step[], before: readonly HistoryEntry[] = []): PruneMaterial {
  const entries: HistoryEntry[] = [...before, { role: 'user', content: [{ type: 'text', text: 'go' }] }];
  steps.forEach(({ tool, chars, hasImage }, at) => {
    const id = `t${at}`;
    const image: ContentBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const text = 'abcdefghij'.repeat(Math.ceil(chars / 10)).slice(0, chars);
    entries.push({ role: 'assistant', content: [{ type: 'tool_use', id, name: tool, input: {} }] });
    entries.push({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content: hasImage ? [{ type: 'text', text }, image] : text }],
    });
  });
  return createHistory(entries.map((entry, index) => ({ ...entry, seq: index + 1 })));
}

const reads = (count: number, chars: number): Step[] => Array.from({ length: count }, () => ({ tool: 'read', chars }));

/** How the result of each step is shown: `whole`, `trimmed`, `cleared`. */
function fates(material: PruneMaterial, view: PruningView | undefined): string[] {
  const shown = view === undefined ? material.messages : applyPruning(material, view);
  return shown.flatMap(({ content }, at) =>
    content.flatMap((block, index) => {
      if (block.type !== 'tool_result') return [];
      if (block === material.messages[at]?.content[index]) return ['whole'];
      const text = typeof block.content === 'string' ? block.content : JSON.stringify(block.content);
      return [text.includes('[Tool result trimmed: ') ? 'trimmed' : 'cleared'];
    }),
  );
}

function decided(steps: readonly Step[], more: Partial<PruningSettings> = {}): string[] {
  const material = materialOf(steps);
  return fates(material, decidePruning(material, { ...settings, ...more }));
}

describe('deciding', () => {
  test('below the soft ratio nothing is pruned', () => {
    expect(decidePruning(materialOf(reads(5, 10_000)), settings)).toBeUndefined();
  });

  test('above it, long results keep their head and their tail, the last three stay whole', () => {
    const steps = [...reads(4, 12_000), { tool: 'read', chars: 4000 }, ...reads(3, 12_000)];
    expect(decided(steps)).toEqual(['trimmed', 'trimmed', 'trimmed', 'trimmed', 'whole', 'whole', 'whole', 'whole']);
  });

  test('above the hard ratio, the oldest are cleared until it is below again', () => {
    const found = decided(reads(60, 4000));
    expect(new Set(found.slice(0, 20))).toEqual(new Set(['cleared']));
    expect(found.slice(-20)).toEqual(Array.from({ length: 20 }, () => 'whole'));
    expect(found.lastIndexOf('cleared') - found.indexOf('cleared') + 1).toBe(
      found.filter((fate) => fate === 'cleared').length,
    );
  });

  test('clearing needs much to win, and may be switched off', () => {
    expect(decided(reads(60, 4000), { minPrunableToolChars: 500_000 })).not.toContain('cleared');
    expect(decided(reads(60, 4000), { hardClear: { enabled: false, placeholder: PLACEHOLDER } })).not.toContain(
      'cleared',
    );
  });

  test('continues from the earlier position of pruning, never back', () => {
    const first = decidePruning(materialOf(reads(40, 12_000)), settings);
    const later = materialOf(reads(80, 12_000));
    const second = decidePruning(later, settings, first);
    expect(second?.trimmedUntil).toBeGreaterThan(first?.trimmedUntil ?? 0);
    expect(second?.clearedUntil).toBeGreaterThanOrEqual(first?.clearedUntil ?? 0);
    // Nothing more to win: the same view, so the same bytes.
    expect(decidePruning(later, settings, second)).toBe(second);
  });
});

describe('protected are', () => {
  const full = (steps: Step[]): string[] => decided([...steps, ...reads(70, 12_000)]).slice(0, steps.length);

  test('tools that the configuration keeps, or does not name', () => {
    expect(
      full([
        { tool: 'memory_search', chars: 9000 },
        { tool: 'web_secret', chars: 9000 },
        { tool: 'write', chars: 9000 },
      ]),
    ).toEqual(['whole', 'whole', 'whole']);
    expect(full([{ tool: 'WEB_fetch', chars: 9000 }])).not.toEqual(['whole']);
  });

  test('results with images', () => {
    expect(full([{ tool: 'read', chars: 9000, hasImage: true }])).toEqual(['whole']);
  });

  test('results before the first words of a user', () => {
    const call: HistoryEntry = { role: 'assistant', content: [{ type: 'tool_use', id: 'b', name: 'read', input: {} }] };
    const result: HistoryEntry = {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'b', content: 'x'.repeat(9000) }],
    };
    const answer: HistoryEntry = { role: 'assistant', content: [{ type: 'text', text: 'ready' }] };
    const material = materialOf(reads(70, 12_000), [call, result, answer]);
    expect(fates(material, decidePruning(material, settings))[0]).toBe('whole');
  });

  test('messages of no row', () => {
    const { messages, seqs } = materialOf(reads(70, 12_000));
    const view = decidePruning({ messages, seqs: seqs.map(() => -1) }, settings);
    expect(view).toBeUndefined();
  });
});

test('the note says how much was kept, the placeholder is the configured one', () => {
  const material = materialOf(reads(80, 12_000));
  const view = decidePruning(material, settings) as PruningView;
  const shown = applyPruning(material, view).flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_result' ? [block.content] : [])),
  );
  const trimmed = shown.find(
    (content) => typeof content === 'string' && content.startsWith('abc') && content.length < 12_000,
  );
  expect(trimmed).toMatch(
    /^(abcdefghij){150}\n\.\.\.\n(abcdefghij){150}\n\n\[Tool result trimmed: kept first 1500 chars and last 1500 chars of 12000 chars\.\]$/,
  );
  expect(decided(reads(150, 12_000))[0]).toBe('cleared');
  const cleared = materialOf(reads(150, 12_000));
  const [first] = applyPruning(cleared, decidePruning(cleared, settings) as PruningView)[2]?.content ?? [];
  expect(first).toMatchObject({ type: 'tool_result', tool_use_id: 't0', content: PLACEHOLDER });
});

const step = fc.record({
  tool: fc.constantFrom('read', 'exec', 'memory_get', 'write'),
  chars: fc.nat({ max: 30_000 }),
  hasImage: fc.boolean(),
});
const material = fc.array(step, { maxLength: 25 }).map((steps) => ({ steps, material: materialOf(steps) }));
const anySettings = fc.record({
  keepLastAssistants: fc.nat({ max: 4 }),
  softTrimRatio: fc.double({ min: 0, max: 1, noNaN: true }),
  hardClearRatio: fc.double({ min: 0, max: 1, noNaN: true }),
  minPrunableToolChars: fc.nat({ max: 60_000 }),
  softTrim: fc.record({
    maxChars: fc.integer({ min: 1, max: 5000 }),
    headChars: fc.nat({ max: 3000 }),
    tailChars: fc.nat({ max: 3000 }),
  }),
  hardClear: fc.record({ enabled: fc.boolean(), placeholder: fc.constantFrom(PLACEHOLDER, '', 'x'.repeat(400)) }),
  tools: fc.constantFrom<PruningSettings['tools']>(
    { allow: ['read', 'exec'], deny: [] },
    { allow: [], deny: ['memory_*'] },
  ),
  contextTokens: fc.integer({ min: 1000, max: 100_000 }),
});

describe('any history, any settings:', () => {
  const everywhere = (
    judge: (found: { steps: Step[]; material: PruneMaterial }, view: PruningView, by: PruningSettings) => void,
  ): void => {
    fc.assert(
      fc.property(material, anySettings, (found, by) => {
        const view = decidePruning(found.material, by);
        if (view !== undefined) judge(found, view, by);
      }),
      { numRuns: 400 },
    );
  };

  test('pruning never raises the tokens', () => {
    everywhere(({ material: { messages, seqs } }, view) => {
      const shown = applyPruning({ messages, seqs }, view);
      expect(estimateTokens(shown)).toBeLessThanOrEqual(estimateTokens(messages));
    });
  });

  test('pruning touches nothing that is protected', () => {
    everywhere(({ steps, material: found }, view, { keepLastAssistants, tools }) => {
      const shown = applyPruning(found, view);
      const cutoff = found.messages
        .map(({ role }) => role)
        .reduceRight(
          (state, role, at) => (state.left > 0 && role === 'assistant' ? { left: state.left - 1, at } : state),
          { left: keepLastAssistants, at: found.messages.length },
        );
      const protectedFrom = cutoff.left > 0 ? 0 : cutoff.at;
      shown.forEach((message, at) => {
        const isKept =
          tools.deny.length > 0
            ? steps[(at - 2) / 2]?.tool === 'memory_get'
            : !/read|exec/.test(steps[(at - 2) / 2]?.tool ?? '');
        if (
          message.role === 'assistant' ||
          at === 0 ||
          at >= protectedFrom ||
          steps[(at - 2) / 2]?.hasImage ||
          isKept
        ) {
          expect(message).toBe(found.messages[at]);
        }
      });
    });
  });

  test('pruning is idempotent, and the same view shows the same bytes later', () => {
    everywhere(({ steps, material: found }, view, by) => {
      const once = applyPruning(found, view);
      expect(applyPruning({ messages: once, seqs: found.seqs }, view)).toEqual(once);
      expect(decidePruning(found, by, view)).toBe(view);
      const grown = materialOf([...steps, { tool: 'read', chars: 5000 }]);
      expect(applyPruning(grown, view).slice(0, once.length)).toEqual(once);
    });
  });
});
