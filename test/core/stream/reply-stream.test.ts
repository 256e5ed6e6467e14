// Goal: a client that streams a reply receives the reply and nothing else: no reasoning, no tag, no
// silent token, nor the beginning of one. Method: what is shown, joined, is compared with what the
// whole answer is settled with, for answers made of everything that is held back, cut anywhere.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideOutcome, type ReplyRules, takeReplyTags, withoutReasoning } from '../../../src/core/reply.ts';
import { createReplyStream } from '../../../src/model/stream/reply-stream.ts';
import { processorMsOf } from '../../servers/busy-machine.ts';

const PLAIN: ReplyRules = { hasReasoningTags: false, heartbeatAckCharsMax: null };
const REASONING: ReplyRules = { ...PLAIN, hasReasoningTags: true };
const POLL: ReplyRules = { ...PLAIN, heartbeatAckCharsMax: 30 };

/** The shown text after each piece, and at the end. */
function shownOf(pieces: readonly string[], rules = PLAIN): string[] {
  const stream = createReplyStream(rules);
  return [...pieces.map((piece) => stream.push(piece)), stream.end()];
}

const PIECES = [
  [
    'NO_REPLY',
    'no_reply',
    'NO_',
    'REPLY',
    'HEARTBEAT_OK',
    'HEARTBEAT',
    'H',
    'N',
    '{"action":"NO_REPLY"}',
    '{ "action" :',
  ],
  ['[[reply_to_current]]', '[[ Reply_To : 12 ]]', '[[reply_to:', '[[', '[', ']]', ']'],
  [
    '<think>',
    '</think>',
    '<thinking a="b">',
    '</thinking >',
    '<thought>',
    '<th',
    '<final>',
    '</final>',
    '<FINAL x>',
    '</fi',
    '<',
  ],
  ['"NO_REPLY"', 'NO_REPLY.', '(', ')', '“', '”', "'", '…', '[', ']'],
  ['<b>', '</b>', '&nbsp;', '**', '*', '`', '_', '~~~', '!', '!!!!', '.', ',', ' ', '  ', '\n', '\n\n', '\t'],
  ['Hello', 'it is', 'x', '7', '😀', 'é', '。', '\ud83d', 'nbsp;', '>', '}', '"', ':'],
].flat();
const answer = fc
  .array(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...PIECES) }, { weight: 1, arbitrary: fc.string() }), {
    maxLength: 14,
    size: 'max',
  })
  .map((pieces) => pieces.join('').replaceAll('\0', ''));
const cuts = fc.array(fc.nat({ max: 12 }), { maxLength: 60, size: 'max' });

/** The text in pieces of the given lengths; the rest is the last piece. */
function cut(text: string, lengths: readonly number[]): string[] {
  let at = 0;
  const pieces = lengths.map((length) => text.slice(at, (at += length)));
  return [...pieces, text.slice(at)];
}

describe('the shown text of a streamed reply', () => {
  test.each([
    ['a reply', PLAIN],
    ['a reply with reasoning', REASONING],
    ['an answer to a poll', POLL],
  ])('is, joined, the text with which %s is settled, wherever it is cut', (_what, rules) => {
    fc.assert(
      fc.property(answer, cuts, (text, lengths) => {
        expect(shownOf(cut(text, lengths), rules).join('')).toBe(decideOutcome(text, rules).reply ?? '');
      }),
      { numRuns: 5000 },
    );
  });

  test('is the whole reply when a tag inside of another one surrounds a token', () => {
    const text = '<HEARTBEAT_OK<b>>';
    expect(shownOf([text]).join('')).toBe(text);
    expect(decideOutcome(text, PLAIN).reply).toBe(text);
  });

  test('is shown completely, except for text that may still become a token', () => {
    expect(shownOf(['Hello', ', wor', 'ld. ', 'Bye'])).toEqual(['Hello', ', wor', 'ld.', ' Bye', '']);
    expect(shownOf(['No', 'tes: ', 'a H', 'at [', '1]'])).toEqual(['', 'Notes:', ' a', ' Hat', ' [1]', '']);
  });

  test.each([
    'NO_REPLY',
    ' no_reply\n',
    '{"action": "NO_REPLY"}',
    'HEARTBEAT_OK',
    '**HEARTBEAT_OK**',
    '*NO_REPLY',
    '<b>HEARTBEAT_OK</b>',
    'HEARTBEAT_OK {"action": "NO_REPLY"}',
  ])('is nothing of the silence %j', (text) => {
    expect(shownOf(text.split('')).filter((shown) => shown !== '')).toEqual([]);
  });

  test('is not a token at the end of a reply', () => {
    expect(shownOf(['Done.', ' NO', '_REPLY'])).toEqual(['Done.', '', '', '']);
    expect(shownOf(['Done.', ' NO', '_REPLY', ' is what I say'])).toEqual([
      'Done.',
      '',
      '',
      ' NO_REPLY is what I say',
      '',
    ]);
    expect(shownOf(['a\n\nb', '\nHEART', 'BEAT_OK'])).toEqual(['a\n\nb', '', '', '']);
  });

  test('is not a reply tag, nor the blanks that it leaves', () => {
    expect(shownOf(['[[reply', '_to_current]] ', 'Hi. [[', 'reply_to: 7', ']]', '\nBye'])).toEqual([
      '',
      '',
      'Hi.',
      '',
      '',
      '\nBye',
      '',
    ]);
  });

  test('is the inside of <final> as it arrives, without reasoning', () => {
    const pieces = ['<think>why', ' so</th', 'ink>\n<fin', 'al>Hel', 'lo </fi', 'nal> bye'];
    expect(shownOf(pieces, REASONING)).toEqual(['', '', '', 'Hel', 'lo', '', '']);
    expect(shownOf(['<think>why</think>', 'Hello'], REASONING)).toEqual(['', '', 'Hello']);
    expect(shownOf(['Say <think>', 'why'], PLAIN)).toEqual(['Say <think>', 'why', '']);
  });

  test('takes time in proportion to the text', () => {
    const words = Array.from({ length: 20_000 }, (_, index) => (index % 7 === 0 ? '<b>' : 'word '));
    for (const [before, after] of [
      ['', ''],
      ['<think>', '</think><final>x</final>'],
      ['<final>', '</final>'],
      ['<final>x</final>', ''],
    ]) {
      expect(processorMsOf(() => shownOf([before ?? '', ...words, after ?? ''], REASONING))).toBeLessThan(2000);
    }
  });
});

describe('the filters as functions of a whole text', () => {
  test('agree with their definitions as regular expressions', () => {
    fc.assert(
      fc.property(answer, (text) => {
        expect(withoutReasoning(text)).toBe(reasoningByDefinition(text));
        expect(takeReplyTags(text).text.trim()).toBe(tagsByDefinition(text).trim());
      }),
      { numRuns: 5000 },
    );
  });
});

function reasoningByDefinition(text: string): string {
  const think = /<(think(?:ing)?|thought)(?:\s[^>]*)?>(?:[^]*?<\/\1\s*>|[^]*?(?=<final)|[^]*$)/gi;
  const bare = text.replace(think, '');
  const open = /<final(?:\s[^>]*)?>/i.exec(bare);
  if (open === null)
    return bare
      .replace(/^[^]*<\/(?:think(?:ing)?|thought)\s*>/i, '')
      .replace(/<\/final\s*>/gi, '')
      .trim();
  const inside = bare.slice(open.index + open[0].length);
  return inside.slice(0, [...inside.matchAll(/<\/final\s*>/gi)].at(-1)?.index ?? inside.length).trim();
}

function tagsByDefinition(text: string): string {
  const tag = /\[\[[^\S\n]*(?:reply_to_current|reply_to[^\S\n]*:[^\]\n]*)[^\S\n]*\]\][^\S\n]*/gi;
  return text
    .replace(tag, '\0')
    .replace(/[^\S\n]*\0+(?=\n|$)/g, '')
    .replaceAll('\0', '');
}
