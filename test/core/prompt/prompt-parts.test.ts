// A prompt as its parts: joined as the model reads them, and found again in the text.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { InboundMessage } from '../../../src/core/inbound.ts';
import { joinParts, ownPart, type PromptPart } from '../../../src/prompt/prompt-parts.ts';
import { buildUserPrompt } from '../../../src/prompt/user-prompt.ts';
import { runToEnd } from '../run-to-end.ts';

test('parts are separated by a blank line, or by a line break where they belong together', () => {
  const tight = { ...ownPart('b', 'B'), isTight: true };
  expect(joinParts([tight, tight, ownPart('c', 'C')]).text).toBe('B\nB\n\nC');
  expect(joinParts([])).toEqual({ text: '', spans: [] });
});

describe('a code fence that words from outside leave open', () => {
  const said = (text: string): PromptPart => ({ name: 'body', origin: 'sender', trust: 'untrusted', text });
  const textOf = (...parts: PromptPart[]): string => joinParts(parts).text;

  test.each([
    ['```\ncode', '```'],
    ['```ts\ncode\n``', '```'],
    ['  ~~~~ `x`\n~~~\n````\ncode', '~~~~'],
    ['```\na\n```\n\n`````\n```\nb', '`````'],
    ['```\ncode\n``` not closed by this', '```'],
  ])('%j is closed before the following text (G29)', (text, fence) => {
    expect(textOf(said(text), ownPart('x', 'Ours'))).toBe(`${text}\n${fence}\n\nOurs`);
    expect(textOf(said(text), { ...said('theirs'), isTight: true })).toBe(`${text}\n${fence}\ntheirs`);
  });

  test('stays open at the end of the prompt, where the text is not changed', () => {
    expect(textOf(ownPart('x', 'Ours'), said('```\ncode'))).toBe('Ours\n\n```\ncode');
  });

  test.each(['```\ncode\n````\n', '    ```\n', '``` `x`', 'a ``` b', '> ```', '~~', '```\n~~~\n```'])(
    '%j leaves none open and is followed by nothing',
    (text) => {
      expect(textOf(said(text), ownPart('x', 'Ours'))).toBe(`${text}\n\nOurs`);
    },
  );

  test('is closed for any reader: after every untrusted part, no fence is open (G29)', () => {
    const line = fc.constantFrom('```', '````', '~~~', '~~~~ x', '``` `', '   ```', '    ```', 'x', '', '``` js');
    const text = fc.array(line, { minLength: 1 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(fc.array(text, { minLength: 1 }), (texts) => {
        expect(openFence(textOf(...texts.map(said), ownPart('x', 'Ours')))).toBe('');
      }),
    );
  });
});

/** The marks of the fence that is open at the end of a text, read line by line. */
function openFence(text: string): string {
  let open = '';
  for (const line of text.split('\n')) {
    const marks = /^ ? ? ?(`+|~+)/.exec(line)?.[1] ?? '';
    const rest = line.trimStart().slice(marks.length);
    if (marks.length < 3) continue;
    if (open === '') open = marks[0] === '`' && rest.includes('`') ? '' : marks;
    else if (marks[0] === open[0] && marks.length >= open.length && rest.trim() === '') open = '';
  }
  return open;
}

test('every part is found again where its span says', () => {
  const part = fc.record({ text: fc.string({ minLength: 1 }), isTight: fc.boolean() });
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const { text, spans } = joinParts(
        parts.map((own): PromptPart => ({ ...ownPart('x', own.text), isTight: own.isTight })),
      );
      expect(spans.map(({ start, end }) => text.slice(start, end))).toEqual(parts.map((own) => own.text));
    }),
  );
});

test('nothing from outside is marked as trusted, and nothing of Holdfast as untrusted (G29)', () => {
  const outside = 'OUTSIDE';
  const message: InboundMessage = {
    text: outside,
    chatType: 'group',
    messageId: outside,
    sender: { name: outside },
    group: { subject: outside },
    replyTo: { body: outside },
    history: [{ body: outside }],
    thread: { historyBody: outside },
    media: [{ path: `/${outside}.png` }, { path: '/a.ogg', transcript: outside }],
    untrustedContext: [outside],
  };
  const { parts } = runToEnd(
    buildUserPrompt({
      kind: 'message',
      ownerIds: [],
      messages: [message, message],
      events: [
        { text: outside, createdAt: 0, isTrusted: false },
        { text: 'fact', createdAt: 0, isTrusted: true },
      ],
      zone: 'utc',
      isNewSession: true,
      wasAborted: true,
      thinking: null,
      resetTriggers: [],
      now: { epochMs: 0, timezone: 'UTC' },
      overflow: { droppedCount: 2, summaryLines: [outside] },
      channelLines: ['Telegram: configured'],
      canSendMedia: true,
    }),
  );
  for (const part of parts)
    expect([part.name, part.trust]).toEqual([part.name, part.text.includes(outside) ? 'untrusted' : 'trusted']);
  expect(parts.map(({ name }) => name)).toEqual(
    [
      'thread-note channel-summary system-event system-event abort-hint',
      'queue-frame queue-overflow queue-overflow',
      // The first begins the session, which is shown the thread instead of the chat's history.
      'queue-frame media-note media-hint context context context body untrusted-context',
      'queue-frame media-note media-hint context context context context body untrusted-context',
    ].flatMap((names) => names.split(' ')),
  );
});
