// When a reply is silence.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { interpretReply } from '../../src/core/reply.ts';

test.each([
  'NO_REPLY',
  '  NO_REPLY\n',
  'no_reply',
  '{"action":"NO_REPLY"}',
  '{ "action": "NO_REPLY" }',
  '',
  ' \n',
  '*NO_REPLY',
  'NO_REPLY.',
  '**NO_REPLY**',
  '**NO_REPLY.**',
  '`NO_REPLY`',
  '"NO_REPLY"',
  "'no_reply'!",
  '“NO_REPLY”',
  '_NO_REPLY_…',
  '(NO_REPLY)',
  '```\nNO_REPLY\n```',
  'NO_REPLY. NO_REPLY.',
])('%j is silent', (text) => {
  expect(interpretReply(text)).toEqual({ kind: 'silent' });
});

test.each([
  ['Done. NO_REPLY', 'Done.'],
  ['Done.\n\nNO_REPLY', 'Done.'],
  ['Done **NO_REPLY', 'Done'],
  ['NO_REPLYThe user left', 'The user left'],
  ['NO_REPLYNO_REPLYThe user', 'The user'],
  ['NO_REPLY?! What', 'NO_REPLY?! What'],
  ['"NO_REPLY" is the token', '"NO_REPLY" is the token'],
  ['NO_REPLY because nothing happened', 'NO_REPLY because nothing happened'],
  ['The token NO_REPLY means silence', 'The token NO_REPLY means silence'],
  ['use no_reply', 'use no_reply'],
  ['xNO_REPLY', 'xNO_REPLY'],
  ['{"action":"NO_REPLY","text":"hi"}', '{"action":"NO_REPLY","text":"hi"}'],
  ['hello', 'hello'],
])('%j is sent as %j', (text, sent) => {
  expect(interpretReply(text)).toEqual({ kind: 'reply', text: sent });
});

test('text that never mentions the token is sent as it is, but for blanks around it', () => {
  fc.assert(
    fc.property(
      fc.string().filter((text) => text.trim() !== '' && !/no_reply/i.test(text)),
      (text) => {
        expect(interpretReply(text)).toEqual({ kind: 'reply', text: text.trim() });
      },
    ),
  );
});
