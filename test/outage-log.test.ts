import { expect, test } from 'vitest';
import { createLogger, createOutageLog } from '../src/logger.ts';

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });

function startLog() {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const clock = { nowMs: 0 };
  const outages = createOutageLog({
    dependency: 'database',
    logger: createLogger({ level: 'info', format: 'json', name: 'test', destination }),
    isOutage: (error) => (error as { code?: unknown }).code === 'ECONNREFUSED',
    monotonicMs: () => clock.nowMs,
  });
  return { outages, clock, messages: () => lines.map(({ msg }) => msg), lines };
}

test('an outage of two minutes with a thousand faults is four lines', () => {
  const { outages, clock, messages, lines } = startLog();
  for (let fault = 0; fault < 1_000; fault += 1) {
    outages.report(refused, 'Reconciler round failed; the next round retries');
    clock.nowMs += 125;
  }
  expect(outages.isOngoing).toBe(true);
  clock.nowMs += 5_000;
  outages.answered();
  outages.answered();
  expect(outages.isOngoing).toBe(false);
  expect(messages()).toEqual([
    'The database is unavailable; calls to it are retried',
    'The database is still unavailable',
    'The database is still unavailable',
    'The database is available again',
  ]);
  expect(lines[0]).toMatchObject({ dependency: 'database', code: 'ECONNREFUSED', reason: refused.message });
  expect(lines.at(-1)).toMatchObject({ faults: 1_000, durationMs: 130_000 });
});

test('an answer between faults does not end an outage', () => {
  const { outages, clock, messages } = startLog();
  for (let fault = 0; fault < 10; fault += 1) {
    outages.failed(refused);
    clock.nowMs += 500;
    outages.answered();
  }
  expect(messages()).toEqual(['The database is unavailable; calls to it are retried']);
});

test('an error that is not an outage is a line of its own', () => {
  const { outages, messages } = startLog();
  outages.report(new Error('column "x" does not exist'), 'Reconciler round failed; the next round retries');
  outages.answered();
  expect(messages()).toEqual(['Reconciler round failed; the next round retries']);
});
