// The history that a client of an OpenAI-compatible endpoint sends, compared with the stored one.
import { describe, expect, test } from 'vitest';
import type { ClientEntry } from '../../../../src/features/openai/rules/conversation.ts';
import { partHistory, type StoredHistory } from '../../../../src/features/openai/rules/history.ts';

type Line = `${'user' | 'assistant' | 'results'}: ${string}`;

function read(line: Line): { role: 'user' | 'assistant'; kind: 'prompt' | 'answer' | 'results'; text: string } {
  const [who = '', text = ''] = line.split(': ');
  if (who === 'assistant') return { role: 'assistant', kind: 'answer', text };
  return { role: 'user', kind: who === 'results' ? 'results' : 'prompt', text };
}

function stored(lines: Line[], isWhole = true): StoredHistory {
  const entries = lines.map(read).map(({ text, ...entry }, at) => ({ ...entry, id: `e${at}`, texts: [text] }));
  return { isWhole, entries };
}

function sent(lines: Line[]): ClientEntry[] {
  return lines.map(read).map(({ role, kind, text }) => ({
    role,
    kind,
    content:
      kind === 'results' ? [{ type: 'tool_result', tool_use_id: text, content: text }] : [{ type: 'text', text }],
  }));
}

describe("a client's history", () => {
  const talk: Line[] = ['user: a', 'assistant: b', 'user: c', 'assistant: d'];

  test.each<[string, StoredHistory, Line[]]>([
    ['the same', stored(talk), talk],
    ['the end of it', stored(talk), ['user: c', 'assistant: d']],
    ['the same with other spaces', stored(['user: a  b', 'assistant: c']), ['user: a\nb', 'assistant: c']],
    [
      'the same without the steps between',
      stored(['user: a', 'assistant: ', 'results: x', 'assistant: b']),
      talk.slice(0, 2),
    ],
    ['more than is left after a compaction', stored(talk.slice(2), false), talk],
  ])('agrees when it is %s', (_, known, lines) => {
    expect(partHistory(known, sent(lines))).toBeNull();
  });

  test.each<[string, Line[], string | null, Line[]]>([
    ['another answer', ['user: a', 'assistant: x'], 'e0', ['assistant: x']],
    ['another question', ['user: a', 'assistant: b', 'user: x', 'assistant: y'], 'e1', ['user: x', 'assistant: y']],
    ['another beginning', ['user: x', 'assistant: b'], null, ['user: x', 'assistant: b']],
    ['more than is stored', [...talk, 'user: e', 'assistant: f'], 'e3', ['user: e', 'assistant: f']],
  ])('parts from the stored one: %s', (_, lines, lastEntryId, rest) => {
    expect(partHistory(stored(talk), sent(lines))).toEqual({ lastEntryId, rest: sent(rest) });
  });

  test('takes the results of what both have along', () => {
    const known = stored(['user: a', 'assistant: b', 'results: x', 'user: c', 'assistant: d']);
    const parted = partHistory(known, sent(['user: a', 'assistant: b', 'results: y', 'user: z', 'assistant: z']));
    expect(parted).toEqual({ lastEntryId: 'e2', rest: sent(['user: z', 'assistant: z']) });
  });
});
