// The part of the history that a turn shows: limits, acknowledged polls, prompts without an answer,
// changes of the model.
import { describe, expect, test } from 'vitest';
import type { ContentBlock } from '../../../src/core/content.ts';
import type { Entry, EntryKind } from '../../../src/core/entry.ts';
import { readHeartbeatAnswer } from '../../../src/core/heartbeat.ts';
import {
  dropHeartbeatPairs,
  chooseHistoryLimit,
  authorAt,
  MODEL_SPANS_MAX,
  withModel,
  orphanedPrompts,
  type HistoryLimits,
} from '../../../src/history/past.ts';
import { canonicalSessionKey, sessionKindOf } from '../../../src/core/session-key.ts';

const entry = (kind: EntryKind, words: string, isPoll = false): Pick<Entry, 'kind' | 'content' | 'provenance'> => ({
  kind,
  content: [{ type: 'text', text: words }],
  ...(isPoll ? { provenance: { kind: 'heartbeat' } } : {}),
});

describe('the limit of a session', () => {
  const limits: HistoryLimits = {
    session: { dmHistoryLimit: 10, historyLimit: 20 },
    platforms: {
      telegram: { historyLimit: 5, dmHistoryLimit: 7, dms: { Alice: { historyLimit: 3 }, '42': { historyLimit: 0 } } },
    },
  };
  const limitOf = (name: string, isGroup = false, of = limits): number | undefined => {
    const key = canonicalSessionKey(name);
    return chooseHistoryLimit({ key, kind: sessionKindOf(key), isGroup }, of);
  };

  test.each<[string, number | undefined]>([
    ['main', 10],
    ['anybody', 10],
    ['whatsapp:direct:bob', 10],
    ['telegram:direct:bob', 7],
    ['telegram:direct:alice', 3],
    ['telegram:acc:dm:ALICE:thread:9', 3],
    ['telegram:direct:42', undefined],
    ['whatsapp:group:g1', 20],
    ['telegram:group:g1', 5],
    ['telegram:channel:c1:topic:2', 5],
    ['subagent:1', undefined],
    ['cron:1', undefined],
    ['main:heartbeat', undefined],
  ])('%s: %s', (name, limit) => {
    expect(limitOf(name)).toBe(limit);
  });

  test('follows the chat if the key does not show the kind', () => {
    expect(limitOf('anybody', true)).toBe(20);
    expect(limitOf('whatsapp:direct:bob', true)).toBe(10);
  });

  test('is none where none is set', () => {
    expect(limitOf('main', false, { session: {}, platforms: {} })).toBeUndefined();
  });
});

describe('an answer to a poll', () => {
  test.each<[string, boolean, string]>([
    ['HEARTBEAT_OK', true, ''],
    ['', true, ''],
    ['**HEARTBEAT_OK**', true, ''],
    ['<b>HEARTBEAT_OK</b>&nbsp;', true, ''],
    ['HEARTBEAT_OK all  quiet', true, 'all quiet'],
    ['hi HEARTBEAT_OK!!!!', true, 'hi!!!!'],
    ['the token HEARTBEAT_OK is in the middle', false, 'the token HEARTBEAT_OK is in the middle'],
    ['HEARTBEAT_OKAY then', false, 'HEARTBEAT_OKAY then'],
    ['disk full', false, 'disk full'],
  ])('%j', (answer, isAck, rest) => {
    expect(readHeartbeatAnswer(answer, 300)).toEqual({ isAck, text: rest });
  });

  test('with 300 characters in addition to the token acknowledges, with 301 it reports', () => {
    expect(readHeartbeatAnswer(`HEARTBEAT_OK ${'x'.repeat(300)}`, 300).isAck).toBe(true);
    expect(readHeartbeatAnswer(`HEARTBEAT_OK ${'x'.repeat(301)}`, 300)).toEqual({
      isAck: false,
      text: 'x'.repeat(301),
    });
  });
});

describe('polls', () => {
  const hello = [entry('prompt', 'hi'), entry('answer', 'hello')];
  const poll = entry('prompt', 'poll', true);
  const shown = (turn: ReturnType<typeof entry>[]): unknown => dropHeartbeatPairs([...hello, ...turn, ...hello], 300);

  test('that were only acknowledged are left out with all that belongs to them', () => {
    const call: ContentBlock = { type: 'tool_use', id: 't', name: 'read', input: {} };
    const ack = entry('answer', 'HEARTBEAT_OK');
    const both = [...hello, ...hello];
    expect(shown([poll, ack])).toEqual(both);
    expect(shown([poll, { kind: 'answer', content: [call] }, entry('results', 'r'), ack])).toEqual(both);
  });

  test('that reported something, or have no answer, stay', () => {
    for (const turn of [[poll, entry('answer', 'disk full')], [poll]]) {
      expect(shown(turn)).toEqual([...hello, ...turn, ...hello]);
    }
  });

  test('whose turn a person steered stay', () => {
    const turn = [poll, entry('steer', 'and the mail?'), entry('answer', 'HEARTBEAT_OK')];
    expect(shown(turn)).toEqual([...hello, ...turn, ...hello]);
  });

  test('are known by their rows: the words of a person are no poll', () => {
    const turn = [entry('prompt', 'poll'), entry('answer', 'HEARTBEAT_OK')];
    expect(shown(turn)).toEqual([...hello, ...turn, ...hello]);
  });

  test('without any, nothing is copied', () => {
    expect(dropHeartbeatPairs(hello, 300)).toBe(hello);
  });
});

test('prompts at the end without an answer are orphans; results are not', () => {
  const orphansOf = (...kinds: EntryKind[]): EntryKind[] =>
    orphanedPrompts(kinds.map((kind) => ({ kind }))).map(({ kind }) => kind);
  expect(orphansOf('prompt', 'answer', 'prompt')).toEqual(['prompt']);
  expect(orphansOf('summary', 'prompt', 'prompt')).toEqual(['prompt', 'prompt']);
  expect(orphansOf('prompt', 'answer', 'results', 'steer')).toEqual(['steer']);
  expect(orphansOf('prompt', 'answer', 'results')).toEqual([]);
  expect(orphansOf()).toEqual([]);
});

describe('the models of a session', () => {
  test('are remembered where they change', () => {
    const one = withModel(undefined, 1, { model: 'a' });
    expect(withModel(one, 5, { model: 'a' })).toBe(one);
    const two = withModel(one, 9, { model: 'b' });
    expect(two).toEqual([
      { seq: 1, model: 'a' },
      { seq: 9, model: 'b' },
    ]);
    expect([8, 9, 0].map((seq) => authorAt(two, seq)?.model)).toEqual(['a', 'b', undefined]);
    const scoped = withModel(two, 12, { model: 'b', scope: 'team' });
    expect(scoped.at(-1)).toEqual({ seq: 12, model: 'b', scope: 'team' });
    expect(withModel(scoped, 14, { model: 'b' })).toHaveLength(4);
  });

  test('are forgotten where they wrote nothing', () => {
    const two = withModel(withModel(undefined, 1, { model: 'a' }), 9, { model: 'b' });
    expect(withModel(two, 9, { model: 'c' })).toEqual([
      { seq: 1, model: 'a' },
      { seq: 9, model: 'c' },
    ]);
    expect(withModel(two, 9, { model: 'a' })).toEqual([{ seq: 1, model: 'a' }]);
  });

  test('have a maximum number', () => {
    let spans = withModel(undefined, 1, { model: 'm0' });
    for (let change = 1; change <= MODEL_SPANS_MAX * 2; change += 1)
      spans = withModel(spans, change * 2, { model: `m${change}` });
    expect(spans).toHaveLength(MODEL_SPANS_MAX);
    expect(spans.at(-1)?.model).toBe(`m${MODEL_SPANS_MAX * 2}`);
  });
});
