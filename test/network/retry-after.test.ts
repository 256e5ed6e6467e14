import { describe, expect, test } from 'vitest';
import { readRetryAfter } from '../../src/network/retry-after.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

function read(headers: Record<string, string>): number | null {
  return readRetryAfter(new Headers(headers), NOW_MS);
}

describe('the wait that a provider asks for', () => {
  test('is read from milliseconds, seconds and dates', () => {
    expect(read({ 'retry-after-ms': '1500', 'retry-after': '9' })).toBe(1500);
    expect(read({ 'retry-after': '2' })).toBe(2000);
    expect(read({ 'retry-after': '0.25' })).toBe(250);
    expect(read({ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' })).toBe(30_000);
  });

  test('is zero for a date in the past', () => {
    expect(read({ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' })).toBe(0);
  });

  test('is unknown when the headers say nothing that makes sense', () => {
    expect(read({})).toBeNull();
    expect(read({ 'retry-after': 'soon' })).toBeNull();
    expect(read({ 'retry-after-ms': 'x' })).toBeNull();
  });

  test.each([
    '1798761600',
    '1798761600000',
    '99999999999999999999',
    'Thu, 01 Jan 2099 00:00:00 GMT',
    '-5',
    '0x10',
    '1e3',
    'Infinity',
  ])('is unknown when the header is the implausible %s', (header) => {
    expect(read({ 'retry-after': header })).toBeNull();
    expect(read({ 'retry-after-ms': header.length > 12 ? header : 'x', 'retry-after': '2' })).toBe(2_000);
  });

  test('is read up to 31 days', () => {
    expect(read({ 'retry-after': String(31 * 86_400) })).toBe(31 * 86_400_000);
    expect(read({ 'retry-after': String(31 * 86_400 + 1) })).toBeNull();
  });
});
