// Which key of a provider a session uses, and what a failed call says about it.
import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { coolingOf, isForGood, orderKeys } from '../../src/kernel/rules/provider-keys.ts';

const sha256 = (text: string) => hash('sha256', text, 'hex');
const named = (names: readonly string[]) => names.map((name) => ({ name }));
const firstOf = (session: string, names: readonly string[]) => orderKeys(session, named(names), sha256)[0]?.name;

const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 8 });

describe('the order of keys', () => {
  test('has each key once, whatever their order in the configuration', () => {
    fc.assert(
      fc.property(fc.uuid(), names, (session, all) => {
        const order = orderKeys(session, named(all), sha256);
        expect(order.map(({ name }) => name).toSorted()).toEqual(all.toSorted());
        expect(orderKeys(session, named(all.toReversed()), sha256)).toEqual(order);
      }),
    );
  });

  test('does not change between the others when a key is added or removed', () => {
    fc.assert(
      fc.property(fc.uuid(), names, fc.nat(), (session, all, at) => {
        const gone = all[at % all.length];
        const left = all.filter((name) => name !== gone);
        const order = orderKeys(session, named(all), sha256).filter(({ name }) => name !== gone);
        expect(orderKeys(session, named(left), sha256)).toEqual(order);
      }),
    );
  });

  test('spreads sessions evenly', () => {
    const firsts = Array.from({ length: 3_000 }, (_, at) => firstOf(`session-${at}`, ['a', 'b', 'c']));
    for (const key of ['a', 'b', 'c']) {
      const share = firsts.filter((first) => first === key).length;
      expect(share).toBeGreaterThan(900);
      expect(share).toBeLessThan(1_100);
    }
  });
});

describe('a failed call', () => {
  const fault = (status: number, more: object = {}) => ({
    status,
    type: 'error',
    retryAfterMs: null,
    message: 'no',
    ...more,
  });

  test.each([
    ['a 429 for as long as the provider asks', fault(429, { retryAfterMs: 2_000 }), { isWhole: false, forMs: 2_000 }],
    ['a 429 without a time for 30 s', fault(429), { isWhole: false, forMs: 30_000 }],
    ['a 429 for at least a second', fault(429, { retryAfterMs: 1 }), { isWhole: false, forMs: 1_000 }],
    ['a used-up quota for hours', fault(429, { type: 'billing_error' }), { isWhole: true, forMs: 5 * 3_600_000 }],
    ['a spend limit for hours', fault(429, { message: 'spend limit' }), { isWhole: true, forMs: 5 * 3_600_000 }],
  ])('holds back its key: %s', (_what, failed, expected) => {
    expect(coolingOf(failed)).toEqual(expected);
  });

  test.each([401, 403])('with the status %i holds back its key until it is changed', (status) => {
    const cooling = coolingOf(fault(status));
    expect(cooling?.isWhole).toBe(true);
    expect(isForGood(cooling?.forMs ?? 0)).toBe(true);
  });

  test.each([400, 404, 408, 409, 413, 500, 529])('with the status %i says nothing of its key', (status) => {
    expect(coolingOf(fault(status))).toBeNull();
  });
});
