// The header of W3C Trace Context.
import { expect, test } from 'vitest';
import { formatTraceParent, parseTraceParent } from '../../../src/core/telemetry.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

test('a valid header is read and written', () => {
  expect(parseTraceParent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, isSampled: true });
  expect(parseTraceParent(`00-${traceId}-${spanId}-02`)?.isSampled).toBe(false);
  expect(parseTraceParent(`01-${traceId}-${spanId}-01-later`)).toEqual({ traceId, spanId, isSampled: true });
  expect(formatTraceParent({ traceId, spanId, isSampled: false })).toBe(`00-${traceId}-${spanId}-00`);
});

test.each([
  '',
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId}`,
])('%j is not one', (header) => {
  expect(parseTraceParent(header)).toBeNull();
});
