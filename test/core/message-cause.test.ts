import { expect, test } from 'vitest';
import { causeOfKey } from '../../src/kernel/rules/message-cause.ts';

const id = '0198f000-0000-7000-8000-000000000001';

test.each([
  [null, { kind: 'request', row: null }],
  ['plugin:notes:1', { kind: 'request', row: null }],
  [`cron:${id}:1764000000`, { kind: 'cron', row: { table: 'cron', id } }],
  [`cron:${id}:run:tool:${id}`, { kind: 'cron', row: { table: 'cron', id } }],
  [`spawn:${id}`, { kind: 'spawn', row: { table: 'run', id } }],
  [`announce:${id}`, { kind: 'subagent', row: { table: 'run', id } }],
  [`call:${id}:toolu_1`, { kind: 'session', row: { table: 'turn', id } }],
  [`exchange:${id}:2`, { kind: 'session', row: null }],
  [`follow-up:${id}`, { kind: 'steering', row: { table: 'message', id } }],
  [`yield:${id}`, { kind: 'wait', row: { table: 'turn', id } }],
  [`batch:${id}:17:1`, { kind: 'batch', row: { table: 'batch', id } }],
  [`retry:${id}`, { kind: 'retry', row: { table: 'message', id } }],
])('the cause of a message with the key %s', (key, cause) => {
  expect(causeOfKey(key)).toEqual(cause);
});
