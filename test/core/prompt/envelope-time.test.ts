// Times and zones in prompts.
import { expect, test } from 'vitest';
import {
  formatEventTime,
  formatMessageTime,
  formatUserTime,
  resolveEnvelopeZone,
} from '../../../src/prompt/envelope-time.ts';

const AT = 1_772_153_760_000; // 2026-02-27T00:56:00Z

test('a setting names UTC, the host, the user or an IANA zone; an unknown zone means the host', () => {
  const zones = { userTimezone: 'Asia/Tokyo', hostTimezone: 'Europe/Berlin' };
  expect(resolveEnvelopeZone('UTC', zones)).toBe('utc');
  expect(resolveEnvelopeZone('gmt', zones)).toBe('utc');
  expect(resolveEnvelopeZone(undefined, zones)).toBe('Europe/Berlin');
  expect(resolveEnvelopeZone('local', zones)).toBe('Europe/Berlin');
  expect(resolveEnvelopeZone('user', zones)).toBe('Asia/Tokyo');
  expect(resolveEnvelopeZone('user', { hostTimezone: 'Europe/Berlin' })).toBe('Europe/Berlin');
  expect(resolveEnvelopeZone('America/New_York', zones)).toBe('America/New_York');
  expect(resolveEnvelopeZone('Mars/Olympus', zones)).toBe('Europe/Berlin');
});

test('times are written in the zone that is named', () => {
  expect(formatMessageTime(AT, 'utc')).toBe('Fri 2026-02-27 00:56 UTC');
  expect(formatMessageTime(AT, 'Asia/Tokyo')).toBe('Fri 2026-02-27 09:56 GMT+9');
  expect(formatEventTime(AT, 'Europe/Berlin')).toBe('2026-02-27 01:56:00 GMT+1');
  expect(formatMessageTime(Number.POSITIVE_INFINITY, 'utc')).toBeNull();
  expect(formatEventTime(9e15, 'utc')).toBe('unknown-time');
});

test('a time in words names the day, and the zone as it is configured', () => {
  expect(formatUserTime(AT, 'America/New_York')).toBe('Thursday, February 26th, 2026 — 19:56 (America/New_York)');
  const days = Array.from({ length: 31 }, (_, day) => formatUserTime(Date.UTC(2026, 4, day + 1), 'UTC').split(' ')[2]);
  expect(days.slice(0, 4)).toEqual(['1st,', '2nd,', '3rd,', '4th,']);
  expect(days.slice(10, 13)).toEqual(['11th,', '12th,', '13th,']);
  expect(days.slice(20, 24)).toEqual(['21st,', '22nd,', '23rd,', '24th,']);
  expect(days[30]).toBe('31st,');
});
