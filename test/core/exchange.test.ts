import { expect, test } from 'vitest';
import {
  answerExchange,
  exchangeNote,
  readExchange,
  failExchange,
  type Exchange,
} from '../../src/core/session-message.ts';

const exchange: Exchange = {
  id: 'e',
  from: { id: '1', key: 'agent:main:a' },
  to: { id: '2', key: 'agent:main:b' },
  turn: 0,
  turnsMax: 5,
  chain: 0,
  origin: { route: 'r' },
};

test('an exchange alternates between both sides and ends after its limit of turns', () => {
  const targets: string[] = [];
  let at: Exchange | null = exchange;
  for (let turn = 0; at !== null && turn < 20; turn += 1) {
    const answered = answerExchange(at, 'more');
    if (answered.next !== null) targets.push(answered.next.target.id);
    else expect(answered.ownReply).toBeNull();
    at = answered.next?.exchange ?? null;
  }
  // The first answer, and five messages after it.
  expect(targets).toEqual(['1', '2', '1', '2', '1', '2']);
});

test('the last answer of the side that started it is for its own user', () => {
  const last = { ...exchange, turn: 5, turnsMax: 4 };
  expect(answerExchange(last, 'so it is')).toEqual({ next: null, ownReply: 'so it is' });
  expect(exchangeNote(last)).toContain('your next answer is for your own user');
});

test('either side ends it with a token; the side that started it may add a text for its user', () => {
  for (const answer of ['REPLY_SKIP', '`REPLY_SKIP`', 'REPLY_SKIP.'])
    expect(answerExchange(exchange, answer)).toEqual({ next: null, ownReply: null });
  const first = { ...exchange, turn: 1 };
  expect(answerExchange(first, 'There are three.\nREPLY_SKIP\n')).toEqual({ next: null, ownReply: 'There are three.' });
  expect(answerExchange(first, 'say REPLY_SKIP to end').next).not.toBeNull();
  expect(answerExchange(first, null)).toEqual({ next: null, ownReply: null });
});

test('without further turns the first answer is still returned', () => {
  const short = { ...exchange, turnsMax: 0 };
  const first = answerExchange(short, 'three').next;
  expect(first).toMatchObject({ target: { id: '1' }, exchange: { turn: 1 } });
  expect(answerExchange(first!.exchange, 'thanks')).toEqual({ next: null, ownReply: 'thanks' });
});

test('the waiting side is notified when the other side fails, which ends the exchange', () => {
  const failed = failExchange({ ...exchange, turn: 2 }, 'it broke');
  expect(failed).toMatchObject({ target: { id: '1' }, text: '(no answer: it broke)', exchange: { turn: 3 } });
  expect(answerExchange(failed!.exchange, 'I see')).toEqual({ next: null, ownReply: 'I see' });
  expect(failExchange({ ...exchange, turn: 1 }, 'it broke')).toBeNull();
});

test('only text that a session wrote is part of an exchange', () => {
  expect(readExchange({ text: 'x', exchange })).toBeNull();
  expect(readExchange({ text: 'x', exchange, provenance: { kind: 'inter_session' } })).toBe(exchange);
  expect(readExchange(undefined)).toBeNull();
});
