// How the text of a last answer is used.
import { describe, expect, test } from 'vitest';
import { decideOutcome, type ReplyRules, takeReplyTags, withoutReasoning } from '../../src/core/reply.ts';

const RULES: ReplyRules = { hasReasoningTags: false, heartbeatAckCharsMax: null };
const replyOf = (answer: string, change: Partial<ReplyRules> = {}): string | null =>
  decideOutcome(answer, { ...RULES, ...change }).reply;

describe('decideOutcome', () => {
  test.each([
    'NO_REPLY',
    ' no_reply\n',
    '{"action":"NO_REPLY"}',
    '',
    '[[reply_to_current]] NO_REPLY',
    '**NO_REPLY.**',
    'HEARTBEAT_OK',
    'HEARTBEAT_OK.',
    '"HEARTBEAT_OK"',
    '**HEARTBEAT_OK.**',
    'NO_REPLY HEARTBEAT_OK',
    'HEARTBEAT_OK NO_REPLY',
    'NO_REPLY. **HEARTBEAT_OK**',
    'HEARTBEAT_OK NO_REPLY HEARTBEAT_OK NO_REPLY',
  ])('%j is silence on purpose', (answer) => {
    expect(decideOutcome(answer, RULES)).toEqual({
      status: 'silent',
      messageStatus: 'silent',
      reply: null,
      replyTarget: null,
    });
  });

  test('a token in a reply is removed', () => {
    expect(replyOf('Done. NO_REPLY')).toBe('Done.');
    expect(replyOf('HEARTBEAT_OK All quiet.')).toBe('All quiet.');
    expect(replyOf('Done. NO_REPLY HEARTBEAT_OK')).toBe('Done.');
    expect(replyOf('NO_REPLY because of x')).toBe('NO_REPLY because of x');
  });

  test('a poll is acknowledged by up to a fixed number of characters in addition to the token', () => {
    const poll = { heartbeatAckCharsMax: 300 };
    expect(replyOf(`HEARTBEAT_OK ${'x'.repeat(300)}`, poll)).toBeNull();
    expect(replyOf(`HEARTBEAT_OK ${'x'.repeat(301)}`, poll)).toBe('x'.repeat(301));
    expect(replyOf('Your flight leaves in an hour.', poll)).toBe('Your flight leaves in an hour.');
  });

  test('tags are read before tokens, and reasoning before both', () => {
    const tagged = '<think>[[reply_to:1]] NO_REPLY</think><final>[[reply_to_current]] Hi.\n\n  code</final>';
    expect(decideOutcome(tagged, { ...RULES, hasReasoningTags: true })).toMatchObject({
      reply: 'Hi.\n\n  code',
      replyTarget: { kind: 'current' },
    });
    expect(replyOf('Write <think> around it.')).toBe('Write <think> around it.');
  });
});

describe('takeReplyTags', () => {
  test.each([
    ['[[reply_to_current]] hello', 'hello', { kind: 'current' }],
    ['[[ Reply_To_Current ]]\nhello', 'hello', { kind: 'current' }],
    ['a [[reply_to: 12]] b', 'a b', { kind: 'message', id: '12' }],
    ['[[reply_to:1]] [[reply_to_current]] x [[ reply_to : 2 ]]', 'x', { kind: 'message', id: '2' }],
    ['    [[1, 2]]\n    code', '    [[1, 2]]\n    code', null],
    ['no tags', 'no tags', null],
  ])('%j is %j', (text, rest, target) => {
    expect(takeReplyTags(text)).toEqual({ text: rest, target });
  });

  test('indentation elsewhere stays', () => {
    expect(takeReplyTags('[[reply_to_current]]\n\n- a\n    - b  \n').text).toBe('- a\n    - b  \n');
  });
});

describe('withoutReasoning', () => {
  test.each([
    ['<think>why</think><final>hi</final>', 'hi'],
    ['<think>a <final> is what I write</think>\n<FINAL>hi</final> trailing', 'hi'],
    ['<think>not closed <final>hi', 'hi'],
    ['<think>why</think> hi', 'hi'],
    ['why</think>hi', 'hi'],
    ['<think>only reasoning', ''],
    ['plain', 'plain'],
    ['<final>a < b</final>', 'a < b'],
  ])('of %j the user sees %j', (answer, shown) => expect(withoutReasoning(answer)).toBe(shown));
});
