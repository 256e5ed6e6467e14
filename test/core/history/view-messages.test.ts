// The part of a transcript that a request shows, by the views of its turn and of its call.
import { describe, expect, test } from 'vitest';
import type { ContentBlock, ImageBlock } from '../../../src/core/content.ts';
import { createRequestCheck } from '../../../src/history/check-request.ts';
import { historyKey, viewMessages, type ViewEntry, type ViewRules } from '../../../src/history/past.ts';
import type { CallView } from '../../../src/core/view.ts';

const text = (words: string): ContentBlock => ({ type: 'text', text: words });
const image: ImageBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };

/**
 * Turns of a prompt, a call with its result, and an answer; the last prompt is open. Numbered from
 * 1.
 */
function turns(count: number): ViewEntry[] {
  const entries: ViewEntry[] = [];
  const add = (kind: ViewEntry['kind'], role: ViewEntry['role'], ...content: ContentBlock[]): void =>
    void entries.push({ seq: entries.length + 1, kind, role, content });
  for (let turn = 1; turn <= count; turn += 1) {
    add('prompt', 'user', text(`p${turn}`));
    add('answer', 'assistant', { type: 'tool_use', id: `t${turn}`, name: 'read', input: {} });
    add('results', 'user', { type: 'tool_result', tool_use_id: `t${turn}`, content: 'r'.repeat(6000) });
    add('answer', 'assistant', { type: 'thinking', thinking: 'hm', signature: 's' }, text(`a${turn}`));
  }
  add('prompt', 'user', text('now'));
  return entries;
}

function shown(entries: ViewEntry[], more: Partial<ViewRules> = {}, call: CallView | null = null) {
  const promptSeq = entries.findLast(({ kind }) => kind === 'prompt')?.seq ?? 0;
  const rules = { view: {}, promptSeq, model: 'new', injected: [], imageOf: () => undefined, ...more };
  const viewed = viewMessages(entries, rules, call);
  expect(createRequestCheck()(viewed.messages)).toEqual([]);
  return viewed;
}

const wordsOf = (viewed: ReturnType<typeof shown>): string[] =>
  viewed.messages.flatMap(({ content }) => content.flatMap((block) => (block.type === 'text' ? [block.text] : [])));

describe('the history limit', () => {
  test('counts the turns of the past, not the one that asks', () => {
    expect(wordsOf(shown(turns(5), { view: { historyLimit: 2 } }))).toEqual(['p4', 'a4', 'p5', 'a5', 'now']);
  });

  test('does not count the steps of the turn itself', () => {
    const entries = turns(3);
    const promptSeq = entries.length;
    const later: ViewEntry[] = [
      {
        seq: promptSeq + 1,
        kind: 'answer',
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'x', name: 'read', input: {} }],
      },
      {
        seq: promptSeq + 2,
        kind: 'results',
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'x', content: 'r' }],
      },
      { seq: promptSeq + 3, kind: 'steer', role: 'user', content: [text('and this')] },
    ];
    const viewed = shown([...entries, ...later], { promptSeq, view: { historyLimit: 1 } });
    expect(wordsOf(viewed)).toEqual(['p3', 'a3', 'now', 'and this']);
  });

  test('keeps the summary of the earlier entries', () => {
    const summary: ViewEntry = { seq: 99, kind: 'summary', role: 'user', content: [text('summary')] };
    expect(wordsOf(shown([summary, ...turns(5)], { view: { historyLimit: 1 } }))).toEqual([
      'summary',
      'p5',
      'a5',
      'now',
    ]);
  });

  test('a pair that it tears is mended', () => {
    const entries = turns(3).filter(({ kind, seq }) => !(kind === 'results' && seq === 7));
    const viewed = shown(entries, { view: { historyLimit: 2 } });
    expect(JSON.stringify(viewed.messages[2])).toContain('missing tool result');
  });
});

describe('messages of plugins', () => {
  const injected = [
    { plugin: 'memories', role: 'assistant' as const, content: [text('m1')] },
    { plugin: 'memories', role: 'assistant' as const, content: [text('m2')] },
  ];

  test('precede the limited history, after a user message when they begin with an answer', () => {
    const viewed = shown(turns(5), { injected, view: { historyLimit: 1 } });
    expect(wordsOf(viewed)).toEqual(['(session bootstrap)', 'm1', 'm2', 'p5', 'a5', 'now']);
  });

  test('are there in every later step', () => {
    const entries = turns(1);
    const promptSeq = entries.length;
    const answer: ViewEntry = {
      seq: promptSeq + 1,
      kind: 'answer',
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'x', name: 'read', input: {} }],
    };
    const results: ViewEntry = {
      seq: promptSeq + 2,
      kind: 'results',
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'x', content: 'r' }],
    };
    const viewed = shown([...entries, answer, results], { injected, promptSeq });
    expect(wordsOf(viewed).slice(0, 3)).toEqual(['(session bootstrap)', 'm1', 'm2']);
  });

  test('have numbers of their own in the trace', () => {
    const viewed = shown(turns(1), { injected, isTraced: true });
    expect(viewed.trace.slice(0, 3)).toEqual([[0], [-1, -2], [1]]);
    expect(viewed.trace.map((seqs) => seqs.length)).toEqual(viewed.messages.map(({ content }) => content.length));
  });

  test('keep no thinking: no model will know its own in it', () => {
    const thought = { type: 'thinking', thinking: 'x', signature: 's' } as const;
    const viewed = shown(turns(1), { injected: [{ plugin: 'p', role: 'assistant', content: [thought, text('m')] }] });
    expect(viewed.messages[1]?.content).toEqual([text('m')]);
  });
});

test('thinking of before a change of the model is left out', () => {
  const models = [
    { seq: 1, model: 'old' },
    { seq: 5, model: 'new' },
  ];
  const thoughts = shown(turns(2), { view: { models } }).messages.map(({ content }) =>
    content.some(({ type }) => type === 'thinking'),
  );
  expect(thoughts.filter(Boolean)).toHaveLength(1);
  expect(thoughts.lastIndexOf(true)).toBe(thoughts.length - 2);
});

test('images follow their prompts', () => {
  const view = { images: [{ seq: 1, images: [{ sha256: 'x', chars: 4 }] }] };
  const viewed = shown(turns(1), { view, imageOf: (sha256) => (sha256 === 'x' ? image : undefined) });
  expect(viewed.messages[0]?.content).toEqual([text('p1'), image]);
});

test('pruning by one call applies only to that call', () => {
  const pruning = {
    trimmedUntil: 2,
    clearedUntil: 0,
    headChars: 10,
    tailChars: 10,
    maxChars: 100,
    placeholder: 'x',
    tools: { allow: [], deny: [] },
  };
  const entries = turns(2);
  const pruned = shown(entries, {}, { pruning });
  expect(JSON.stringify(pruned.messages[2])).toContain('[Tool result trimmed: ');
  expect(pruned.messages[6]).toEqual(shown(entries).messages[6]);
  expect(JSON.stringify(shown(entries))).not.toContain('trimmed');
});

test('the next turn extends a history only when it shows the same past', () => {
  const base = { view: {}, promptSeq: 5, model: 'a', injected: [], imageOf: () => undefined };
  const key = historyKey(base);
  expect(historyKey({ ...base, promptSeq: 9 })).toBe(key);
  expect(historyKey({ ...base, model: 'b' })).toBe(key);
  const others = [
    { view: { models: [{ seq: 1, model: 'a' }] } },
    { view: { injectedSha256: 'x' } },
    { view: { images: [{ seq: 1, images: [] }] } },
  ];
  for (const other of others) expect(historyKey({ ...base, ...other })).not.toBe(key);
  const images = [{ seq: 1, images: [{ sha256: 'x', chars: 1 }] }];
  expect(historyKey({ ...base, view: { images } })).not.toBe(historyKey({ ...base, promptSeq: 9, view: { images } }));
});
