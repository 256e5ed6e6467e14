// The consequence of a failed model call: a table of the provider's answers, and properties of the
// wait before the next call.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ModelFault } from '../../src/core/failure.ts';
import { classifyFailure, RETRY_DELAY_MS_MAX, retryDelayMs } from '../../src/core/failure.ts';

function fault(overrides: Partial<ModelFault>): ModelFault {
  return { status: null, type: 'unknown_error', retryAfterMs: null, message: 'no matter', ...overrides };
}

describe('a failed model call', () => {
  test.each([
    [408, 'model_timeout'],
    [409, 'model_conflict'],
    [429, 'model_rate_limited'],
    [500, 'model_unavailable'],
    [502, 'model_unavailable'],
    [503, 'model_unavailable'],
    [504, 'model_timeout'],
    [529, 'model_overloaded'],
  ])('with status %i is asked again', (status, code) => {
    expect(classifyFailure(fault({ status }))).toEqual({ kind: 'retry', code, notBeforeMs: 0 });
  });

  test.each([
    [400, 'model_invalid_request'],
    [401, 'model_unauthorized'],
    [402, 'model_billing'],
    [403, 'model_forbidden'],
    [404, 'model_not_found'],
    [413, 'model_request_too_large'],
    [422, 'model_invalid_request'],
    [302, 'model_unexpected_status'],
    [418, 'model_unexpected_status'],
  ])('with status %i is never asked again (G16)', (status, code) => {
    expect(classifyFailure(fault({ status, retryAfterMs: 1000 }))).toEqual({ kind: 'fatal', code });
  });

  test.each([
    ['network', 'model_network'],
    ['cut_stream', 'model_cut_stream'],
    ['malformed_stream', 'model_malformed_stream'],
    ['idle_timeout', 'model_timeout'],
    ['something_new', 'model_failed'],
  ])('of type %s without a status is asked again', (type, code) => {
    expect(classifyFailure(fault({ type }))).toMatchObject({ kind: 'retry', code });
  });

  test.each([
    ['overloaded_error', 'retry', 'model_overloaded'],
    ['api_error', 'retry', 'model_unavailable'],
    ['rate_limit_error', 'retry', 'model_rate_limited'],
    ['timeout_error', 'retry', 'model_timeout'],
    ['invalid_request_error', 'fatal', 'model_invalid_request'],
    ['authentication_error', 'fatal', 'model_unauthorized'],
    ['permission_error', 'fatal', 'model_forbidden'],
    ['not_found_error', 'fatal', 'model_not_found'],
    ['request_too_large', 'fatal', 'model_request_too_large'],
    ['billing_error', 'fatal', 'model_billing'],
  ])('of type %s inside a stream is judged as its status would be', (type, kind, code) => {
    expect(classifyFailure(fault({ type }))).toMatchObject({ kind, code });
  });

  test.each([
    [429, 'billing_error', 'model_billing'],
    [400, 'authentication_error', 'model_unauthorized'],
    [400, 'not_found_error', 'model_not_found'],
    [400, 'content_filter', 'model_stopped_sensitive'],
  ])('with status %i and the type %s is judged by the type', (status, type, code) => {
    expect(classifyFailure(fault({ status, type, retryAfterMs: 3000 }))).toEqual({ kind: 'fatal', code });
  });

  test('keeps the wait that the provider asks for', () => {
    expect(classifyFailure(fault({ status: 429, retryAfterMs: 1500.2 }))).toMatchObject({ notBeforeMs: 1501 });
  });

  test.each([
    fault({ status: 429, errorCode: 'enforced_spend_limit_reached' }),
    fault({ status: 429, errorCode: 'contract_spend_limit_reached' }),
    fault({ status: 429, type: 'enforced_spend_limit_reached' }),
    fault({ type: 'rate_limit_error', message: 'You have reached your specified spend limit.' }),
  ])('at a spend limit without a time to wait ends the turn', (spent) => {
    expect(classifyFailure(spent)).toEqual({ kind: 'fatal', code: 'model_spend_limit' });
    expect(classifyFailure({ ...spent, retryAfterMs: 2000 })).toMatchObject({ kind: 'retry', notBeforeMs: 2000 });
  });

  test.each([
    fault({
      status: 400,
      type: 'invalid_request_error',
      message: 'prompt is too long: 210000 tokens > 200000 maximum',
    }),
    fault({ status: 400, message: 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000' }),
    fault({ type: 'invalid_request_error', message: 'prompt is too long: 5 tokens > 4 maximum' }),
    fault({ type: 'model_context_window_exceeded' }),
  ])('whose prompt does not fit is an overflow', (overflow) => {
    expect(classifyFailure(overflow)).toEqual({ kind: 'overflow', code: 'model_context_overflow' });
  });

  test('always gets a verdict, and never a retry for the five statuses that must not have one (G16)', () => {
    const anyFault = fc.record({
      status: fc.option(
        fc.oneof(fc.integer({ min: 100, max: 999 }), fc.constantFrom(400, 401, 403, 404, 413, 429, 529)),
      ),
      type: fc.oneof(
        fc.string(),
        fc.constantFrom('network', 'cut_stream', 'overloaded_error', '__proto__', 'constructor'),
      ),
      errorCode: fc.option(fc.string()),
      retryAfterMs: fc.option(fc.double({ min: 0, max: 1e9, noNaN: true })),
      message: fc.string(),
    });
    fc.assert(
      fc.property(anyFault, (any) => {
        const verdict = classifyFailure(any);
        expect(['retry', 'overflow', 'fatal']).toContain(verdict.kind);
        expect(verdict.code).toMatch(/^model_[a-z_]+$/);
        if ([400, 401, 403, 404, 413].includes(any.status ?? 0)) expect(verdict.kind).not.toBe('retry');
        if (verdict.kind === 'retry') expect(verdict.notBeforeMs).toBeGreaterThanOrEqual(any.retryAfterMs ?? 0);
      }),
    );
  });
});

describe('the wait before a retry', () => {
  const wait = fc.record({
    attempt: fc.integer({ min: 1, max: 10_000 }),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    retryAfterMs: fc.option(fc.integer({ min: 0, max: 3_600_000 })),
  });

  test('is never below Retry-After, and never above it by more than the cap', () => {
    fc.assert(
      fc.property(wait, (given) => {
        const delayMs = retryDelayMs(given);
        const leastMs = given.retryAfterMs ?? 0;
        expect(delayMs).toBeGreaterThanOrEqual(leastMs);
        expect(delayMs).toBeLessThan(leastMs + RETRY_DELAY_MS_MAX);
        expect(Number.isInteger(delayMs)).toBe(true);
      }),
    );
  });

  test('has full jitter under a ceiling that doubles from 500 ms up to 30 s', () => {
    const almostOne = 0.999_999;
    const ceilings = [1, 2, 3, 4, 5, 6, 7, 8, 1000].map((attempt) =>
      Math.ceil(retryDelayMs({ attempt, random: almostOne, retryAfterMs: null })),
    );
    expect(ceilings).toEqual([499, 999, 1999, 3999, 7999, 15999, 29999, 29999, 29999]);
    expect(retryDelayMs({ attempt: 5, random: 0, retryAfterMs: null })).toBe(0);
    expect(retryDelayMs({ attempt: 1, random: 0.5, retryAfterMs: null })).toBe(250);
  });

  test('ignores a Retry-After that lies in the past', () => {
    expect(retryDelayMs({ attempt: 1, random: 0, retryAfterMs: -5 })).toBe(0);
  });
});
