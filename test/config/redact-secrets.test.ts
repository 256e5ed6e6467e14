import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedact } from '../../src/config/secrets.ts';

const KEY = 'sk-ant+/"key= of\\test';
const redact = createRedact([KEY, 'short']);

describe('a known secret', () => {
  test.each([
    ['plain', KEY],
    ['as JSON writes it', JSON.stringify(KEY).slice(1, -1)],
    [
      'as JSON with escaped slashes writes it',
      JSON.stringify(KEY)
        .slice(1, -1)
        .replaceAll('/', String.raw`\/`),
    ],
    ['in a URL', encodeURIComponent(KEY)],
    ['in a URL with small letters', encodeURIComponent(KEY).replaceAll(/%../g, (one) => one.toLowerCase())],
    ['in a form', new URLSearchParams({ k: KEY }).toString().slice(2)],
  ])('is removed %s', (_form, written) => {
    expect(redact(`invalid key ${written}!`)).toBe('invalid key [redacted]!');
  });

  test('is removed from base64 and base64url, with any text before and after it', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), (before, after) => {
        for (const encoding of ['base64', 'base64url'] as const) {
          const written = Buffer.from(`${before}${KEY}${after}`).toString(encoding);
          const left = redact(`Basic ${written}`);
          expect(left).toContain('[redacted]');
          expect(Buffer.from(left.replace('[redacted]', ''), encoding).toString()).not.toContain('ant+/"key= of');
        }
      }),
    );
  });

  test('that is too short to be distinguished from a word stays', () => {
    expect(redact('a short word')).toBe('a short word');
  });
});

describe('a text', () => {
  test('without secrets stays as it is, and a long one is cut', () => {
    expect(redact('nothing here')).toBe('nothing here');
    expect(redact('x'.repeat(1_000_000)).length).toBe(16_384);
    expect(createRedact([])('x'.repeat(1_000_000)).length).toBe(16_384);
  });

  test('is not cut between the halves of a surrogate pair', () => {
    const text = `${'x'.repeat(16_383)}${'🎈'.repeat(1_000)}`;
    for (const cut of [redact(text), createRedact([])(text)]) expect(cut).toBe('x'.repeat(16_383));
  });

  test('that is cut keeps no part of a secret at its end', () => {
    for (const at of [16_370, 16_380, 16_383]) {
      const cut = redact(`${'x'.repeat(at)}${KEY}${'y'.repeat(100_000)}`);
      expect(cut).not.toContain('sk-');
    }
    expect(redact(KEY.repeat(2_000))).not.toContain('sk-');
  });
});
