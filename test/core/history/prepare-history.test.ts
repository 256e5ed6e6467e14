// A transcript in any state becomes a history that a provider accepts (G12).
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContentBlock } from '../../../src/core/content.ts';
import { createRequestCheck } from '../../../src/history/check-request.ts';
import { limitTurns } from '../../../src/history/past.ts';
import { createHistory, type HistoryEntry, type HistoryRules } from '../../../src/history/prepare-history.ts';
import type { ProviderFamily } from '../../../src/history/provider-family.ts';

const text = (words: string): ContentBlock => ({ type: 'text', text: words });
const call = (id: string, input: unknown = {}): ContentBlock => ({ type: 'tool_use', id, name: 'read', input });
const result = (id: string, content = `result of ${id}`): ContentBlock => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});
const user = (...content: ContentBlock[]): HistoryEntry => ({ role: 'user', content });
const assistant = (...content: ContentBlock[]): HistoryEntry => ({ role: 'assistant', content });
const missing = (id: string): unknown => ({
  type: 'tool_result',
  tool_use_id: id,
  content: expect.stringContaining('missing tool result'),
  is_error: true,
});

const prepareHistory = (entries: readonly HistoryEntry[], rules: HistoryRules = {}) => [
  ...createHistory(entries, rules).messages,
];

describe('prepareHistory', () => {
  test('a sound transcript stays as it is, block by block', () => {
    const entries = [
      user(text('a')),
      assistant(text('b'), call('t1')),
      user(result('t1')),
      assistant(text('c')),
      user(text('d')),
    ];
    const messages = prepareHistory(entries);
    expect(messages).toEqual(entries);
    expect(messages[1]?.content[1]).toBe(entries[1]?.content[1]);
  });

  test('entries that are not active are left out', () => {
    const entries = [user(text('a')), { ...assistant(text('x')), state: 'pruned' as const }, user(text('b'))];
    expect(prepareHistory(entries)).toEqual([{ role: 'user', content: [text('a'), text('b')] }]);
  });

  test('results follow their calls in the order of the calls, before user messages', () => {
    const entries = [
      user(text('a')),
      assistant(call('t1'), call('t2')),
      user(text('meanwhile')),
      user(result('t2'), result('t1')),
    ];
    expect(prepareHistory(entries)[2]?.content).toEqual([result('t1'), result('t2'), text('meanwhile')]);
  });

  test('a call without a result gets an error result', () => {
    const entries = [user(text('a')), assistant(call('t1'), call('t2')), user(result('t1')), assistant(text('b'))];
    expect(prepareHistory(entries)[2]).toEqual({ role: 'user', content: [result('t1'), missing('t2')] });
  });

  test('calls at the very end have error results until their own arrive', () => {
    const history = createHistory([user(text('a')), assistant(call('t1'))]);
    expect(history.messages.at(-1)).toEqual({ role: 'user', content: [missing('t1')] });
    history.push(user(result('t1')));
    expect(history.messages.slice(1)).toEqual([assistant(call('t1')), user(result('t1'))]);
  });

  test('second results, results of nothing and late results are dropped', () => {
    const entries = [
      user(text('a'), result('t0')),
      assistant(call('t1')),
      user(result('t1'), result('t1', 'again'), result('t9')),
      assistant(text('b')),
      user(result('t1'), text('c')),
    ];
    expect(prepareHistory(entries)).toEqual([
      user(text('a')),
      assistant(call('t1')),
      user(result('t1')),
      assistant(text('b')),
      user(text('c')),
    ]);
  });

  test('a call with an id of another form keeps its result under a new id', () => {
    const messages = prepareHistory([user(text('a')), assistant(call('bad id!')), user(result('bad id!', 'x'))]);
    expect(messages.slice(1)).toEqual([
      assistant({ ...call('bad id!'), id: 'badid' } as ContentBlock),
      user({ ...result('bad id!', 'x'), tool_use_id: 'badid' } as ContentBlock),
    ]);
  });

  test('calls that no provider takes are dropped with their results', () => {
    const broken = [
      call('t1', 'text'),
      call('t2', null),
      call('t3', []),
      call(''),
      { ...call('t4'), name: 'a b' } as ContentBlock,
    ];
    const entries = [user(text('a')), assistant(text('b'), ...broken), user(result('t1'), text('c'))];
    expect(prepareHistory(entries)).toEqual([user(text('a')), assistant(text('b')), user(text('c'))]);
  });

  test('an id that was used before is changed in the call and in its result', () => {
    const turn = [user(text('a')), assistant(call('t1')), user(result('t1'))];
    const messages = prepareHistory([...turn, assistant(text('b')), ...turn]);
    expect(messages[5]?.content).toEqual([{ ...call('t1'), id: 't1_2' }]);
    expect(messages[6]?.content).toEqual([{ ...result('t1'), tool_use_id: 't1_2' }]);
  });

  test('two calls of one answer with the same id keep a result each', () => {
    const messages = prepareHistory([
      user(text('a')),
      assistant(call('t1'), call('t1')),
      user(result('t1', 'x'), result('t1', 'y')),
    ]);
    expect(messages[2]?.content).toEqual([result('t1', 'x'), { ...result('t1', 'y'), tool_use_id: 't1_2' }]);
    expect(createRequestCheck()(messages)).toEqual([]);
  });

  test('blank text, empty images, unsigned and trailing thinking go', () => {
    const thinking: ContentBlock = { type: 'thinking', thinking: 'hm', signature: 's' };
    const image: ContentBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } };
    const entries = [
      user(text(' \n'), text('a'), image),
      assistant(text(''), { ...thinking, signature: '' }, text('b'), thinking),
      user(text('c')),
      assistant(thinking),
      user(text('d')),
    ];
    expect(prepareHistory(entries)).toEqual([
      user(text('a'), text('[session:history] omitted empty image payload')),
      assistant(text('b')),
      user(text('c'), text('d')),
    ]);
  });

  test('half characters and NULs go, wherever they are stored, and a thought that had some goes with its signature', () => {
    const thought: ContentBlock = { type: 'thinking', thinking: 'h\ud83dm', signature: 's' };
    const torn = [
      user(text('a\ud83d')),
      assistant(thought, call('t1', { path: '\0x', deep: [{ 'k\udc00': 1 }] })),
      user(result('t1', 'r\0\ud83d')),
    ];
    expect(prepareHistory(torn)).toEqual([
      user(text('a\ufffd')),
      assistant(call('t1', { path: 'x', deep: [{ 'k\ufffd': 1 }] })),
      user(result('t1', 'r\ufffd')),
    ]);
  });

  test('a transcript that begins with an answer gets a user in front', () => {
    expect(prepareHistory([assistant(text('b')), user(text('c'))])[0]).toEqual(user(text('(session bootstrap)')));
  });

  test('answers in a row become one', () => {
    expect(prepareHistory([user(text('a')), assistant(text('b')), assistant(text('c')), user(text('d'))])[1]).toEqual(
      assistant(text('b'), text('c')),
    );
  });
});

// Transcripts as crashes, hooks and old bugs may leave them.
const block = fc.oneof(
  fc.constantFrom('a', '', ' ').map(text),
  fc.constantFrom('t1', 't2', 't3', 'bad id').map((id) => call(id)),
  fc.constantFrom('t1', 't2', 't3', 't9').map((id) => result(id)),
  fc.constant<ContentBlock>({ type: 'thinking', thinking: 'x', signature: 's' }),
  fc.constant<ContentBlock>({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }),
);
const entry: fc.Arbitrary<HistoryEntry> = fc.record(
  {
    role: fc.constantFrom('user' as const, 'assistant' as const),
    content: fc.array(block, { maxLength: 4 }),
    state: fc.constantFrom('active' as const, 'pruned' as const),
  },
  { requiredKeys: ['role', 'content'] },
);
const transcript = fc.array(entry, { maxLength: 12 });

const FAMILIES: ProviderFamily[] = ['anthropic', 'google', 'openai', 'mistral'];

describe.each(FAMILIES)('any transcript, for %s,', (family) => {
  test('followed by a prompt makes a request without fault (G12)', () => {
    fc.assert(
      fc.property(transcript, (entries) => {
        const messages = prepareHistory([...entries, user(text('now'))], { family });
        expect(createRequestCheck(family)(messages)).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  test('once prepared, stays as it is', () => {
    fc.assert(
      fc.property(transcript, (entries) => {
        const messages = prepareHistory(entries, { family });
        expect(prepareHistory(messages, { family })).toEqual(messages);
      }),
      { numRuns: 300 },
    );
  });

  test('is ready for a user turn: every call has its one result', () => {
    fc.assert(
      fc.property(transcript, (entries) => {
        const messages = prepareHistory(entries, { family });
        const calls = messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_use'));
        const results = messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'));
        expect(results.map((block) => block.type === 'tool_result' && block.tool_use_id)).toEqual(
          calls.map((block) => block.type === 'tool_use' && block.id),
        );
      }),
      { numRuns: 200 },
    );
  });

  test('keeps every pair, and every word that was said', () => {
    fc.assert(
      fc.property(soundTurns, (turns) => {
        const entries = turns.flat();
        const messages = prepareHistory(entries, { family });
        expect(wordsOf(messages)).toEqual(wordsOf(entries));
        expect(resultsByCall(messages)).toEqual(resultsByCall(entries));
      }),
      { numRuns: 200 },
    );
  });
});

// Turns as they are when nothing went wrong, with several users in a row.
const said = fc.array(fc.string({ minLength: 1 }).filter(isWord), { minLength: 1, maxLength: 3 });
const soundTurns = fc
  .array(fc.tuple(said, fc.nat({ max: 3 })), { minLength: 1, maxLength: 6 })
  .map((turns) => turns.map(([texts, callCount], turn) => soundTurn(texts, callCount, turn)));

function soundTurn(texts: string[], callCount: number, turn: number): HistoryEntry[] {
  const ids = Array.from({ length: callCount }, (_, at) => `toolu_${turn}.${at}`);
  return [
    ...texts.map((words) => user(text(words))),
    assistant(text(`answer ${turn}`), ...ids.map((id) => call(id))),
    ...(ids.length === 0 ? [] : [user(...ids.map((id) => result(id)))]),
  ];
}

function isWord(words: string): boolean {
  return words.trim() !== '';
}

function wordsOf(messages: readonly HistoryEntry[]): string[] {
  return messages.flatMap(({ content }) => content.flatMap((one) => (one.type === 'text' ? [one.text] : [])));
}

/** The results of the calls, in the order of the calls. */
function resultsByCall(messages: readonly HistoryEntry[]): unknown[] {
  const blocks = messages.flatMap(({ content }) => content);
  return blocks.flatMap((one, at) => {
    if (one.type !== 'tool_use') return [];
    const found = blocks.slice(at).find((other) => other.type === 'tool_result' && other.tool_use_id === one.id);
    return [found?.type === 'tool_result' ? found.content : null];
  });
}

describe('any transcript', () => {
  test('grows to the same messages one by one, and nothing already settled is touched', () => {
    fc.assert(
      fc.property(transcript, (entries) => {
        const history = createHistory();
        for (const next of entries) {
          const before = structuredClone(history.messages);
          const objects = [...history.messages];
          history.push(next);
          const after = history.messages;
          for (let at = 0; at < before.length - 2; at += 1) {
            expect(after[at]).toBe(objects[at]);
          }
          expect(objects).toEqual(before);
        }
        expect(history.messages).toEqual(prepareHistory(entries));
      }),
      { numRuns: 200 },
    );
  });
});

// Goal: adding a step costs the same at step 1,000 and at step 10. Method: count objects that are
// new, not milliseconds.
test('a step makes at most three new messages, however long the history', () => {
  const history = createHistory();
  history.push(user(text('go')));
  const seen = new Set<unknown>(history.messages);
  for (let step = 0; step < 1000; step += 1) {
    history.push(assistant(call(`c${step}`)));
    history.push(user(result(`c${step}`)));
    const fresh = history.messages.slice(-3).filter((message) => !seen.has(message));
    expect(fresh.length).toBeLessThanOrEqual(2);
    for (const message of fresh) seen.add(message);
  }
  expect(history.messages).toHaveLength(2001);
  expect(seen.size).toBe(2001);
});

describe('limitTurns', () => {
  const kinds = [
    'summary',
    'prompt',
    'answer',
    'prompt',
    'answer',
    'results',
    'answer',
    'prompt',
    'steer',
    'answer',
  ] as const;
  const entries = kinds.map((kind, seq) => ({ kind, seq }));
  const kept = (turnsMax?: number): number[] => limitTurns(entries, turnsMax).map(({ seq }) => seq);

  test('the last turns are kept whole, summaries in front', () => {
    expect(kept(1)).toEqual([0, 7, 8, 9]);
    expect(kept(2)).toEqual([0, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('no limit keeps all', () => {
    for (const turnsMax of [undefined, 0, -1, 3, 99]) expect(limitTurns(entries, turnsMax)).toEqual(entries);
  });

  test('a limited history with a torn pair is mended afterwards', () => {
    const old = [1, 2, 3, 4, 5].flatMap((turn) => [
      { kind: 'prompt' as const, ...user(text(`p${turn}`)) },
      { kind: 'answer' as const, ...assistant(call(`t${turn}`)) },
      ...(turn === 4 ? [] : [{ kind: 'results' as const, ...user(result(`t${turn}`)) }]),
      { kind: 'answer' as const, ...assistant(text(`a${turn}`)) },
    ]);
    const messages = prepareHistory([...limitTurns(old, 2), user(text('now'))]);
    expect(messages[0]).toEqual(user(text('p4')));
    expect(messages[2]?.content).toEqual([missing('t4')]);
    expect(createRequestCheck()(messages)).toEqual([]);
  });
});
