import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatCustomId,
  formatPrefix,
  parseRequestNo,
  providerErrorFault,
  readResultLine,
} from '../../../../src/features/provider-batches/rules/request-end.ts';

describe('the name of a request', () => {
  test('is accepted by the provider, and says its number to its own submission alone', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), fc.integer({ min: 0, max: 99_999 }), (own, other, no) => {
        const name = formatCustomId(own, no);
        expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(parseRequestNo(own, name)).toBe(no);
        if (own !== other) expect(parseRequestNo(other, name)).toBeNull();
      }),
    );
  });

  test('begins with the 128 bits of its submission as base64url', () => {
    expect(formatPrefix('01900000-0000-7000-8000-00000000000f')).toBe('hf_AZAAAAAAcACAAAAAAAAADw_');
  });
});

describe('a line of results', () => {
  const own = '01900000-0000-7000-8000-000000000001';
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  const exact = '{"type":"succeeded","message":{"id":9007199254740993}}';

  test.each<[string, string | object, object]>([
    ['an answer', { type: 'succeeded', message: { usage: 1 } }, { status: 'answered', result: { usage: 1 } }],
    ['an answer with a large number', exact, { status: 'answered', result: { id: '9007199254740993' } }],
    ['an error', { type: 'errored', error }, { status: 'errored', error: error.error }],
    ['an expiry', { type: 'expired' }, { status: 'queued' }],
    ['a cancellation', { type: 'canceled' }, { status: 'queued' }],
    ['an end of the future', { type: 'of-the-future' }, { status: 'queued' }],
  ])('says how its request ended: %s', (_name, result, end) => {
    const text = typeof result === 'string' ? result : JSON.stringify(result);
    const line = `{"custom_id":"${formatCustomId(own, 3)}","result":${text}}`;
    expect(readResultLine(own, line)).toEqual({ kind: 'result', requestNo: 3, result: null, error: null, ...end });
  });

  test('of another submission or without meaning is recognised in any form', () => {
    const other = JSON.stringify({ custom_id: 'other-1', result: { type: 'expired' } });
    expect(readResultLine(own, other)).toEqual({ kind: 'foreign' });
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(['unreadable', 'foreign']).toContain(readResultLine(own, text).kind);
      }),
    );
  });

  test('of an error without a reason is one of the API', () => {
    expect(providerErrorFault(null).type).toBe('api_error');
  });
});
