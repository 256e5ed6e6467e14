import { describe, expect, test } from 'vitest';
import { readHeartbeatAnswer } from '../../src/core/heartbeat-ack.ts';
import { firstPoll, isWithinHours } from '../../src/core/heartbeat-due.ts';
import { dueTasks, readHeartbeatFile, timesAfter } from '../../src/core/heartbeat-file.ts';
import { isRepeated, occasionOf, pollText, type PollInput } from '../../src/core/heartbeat-poll.ts';

describe('an answer to a poll', () => {
  test.each([
    ['HEARTBEAT_OK', true, ''],
    ['  HEARTBEAT_OK  ', true, ''],
    ['', true, ''],
    ['**HEARTBEAT_OK**', true, ''],
    ['<b>HEARTBEAT_OK</b>&nbsp;', true, ''],
    ['HEARTBEAT_OK All quiet.', true, 'All quiet.'],
    ['All quiet. HEARTBEAT_OK', true, 'All quiet.'],
    ['hi HEARTBEAT_OK!!!!', true, 'hi!!!!'],
    ['HEARTBEAT_OK HEARTBEAT_OK', true, ''],
    ['hi HEARTBEAT_OK!!!!!', false, 'hi HEARTBEAT_OK!!!!!'],
    ['The token HEARTBEAT_OK stands in the middle here.', false, 'The token HEARTBEAT_OK stands in the middle here.'],
    ['heartbeat_ok', false, 'heartbeat_ok'],
    ['Your flight is late.', false, 'Your flight is late.'],
  ])('%s', (answer, isAck, text) => {
    expect(readHeartbeatAnswer(answer, 300)).toEqual({ isAck, text });
  });

  test('acknowledges up to a number of characters in addition to the token', () => {
    expect(readHeartbeatAnswer(`HEARTBEAT_OK ${'x'.repeat(300)}`, 300).isAck).toBe(true);
    expect(readHeartbeatAnswer(`HEARTBEAT_OK ${'x'.repeat(301)}`, 300)).toEqual({
      isAck: false,
      text: 'x'.repeat(301),
    });
  });

  test('that repeats the last alert is sent again only after an interval', () => {
    const last = { sha256: 'a', atMs: 0 };
    expect(isRepeated({ sha256: 'a', atMs: 24 * 3_600_000 - 1 }, last, 24)).toBe(true);
    expect(isRepeated({ sha256: 'a', atMs: 24 * 3_600_000 }, last, 24)).toBe(false);
    expect(isRepeated({ sha256: 'b', atMs: 1 }, last, 24)).toBe(false);
    expect(isRepeated({ sha256: 'a', atMs: 1 }, undefined, 24)).toBe(false);
  });
});

describe('when an agent is polled', () => {
  test('follows from its name and the interval, not from the time of the check', () => {
    const first = firstPoll('main', 1_800_000, 1_700_000_000_000);
    expect(first).toBeGreaterThan(1_700_000_000_000);
    expect(first - 1_700_000_000_000).toBeLessThanOrEqual(1_800_000);
    expect(firstPoll('main', 1_800_000, first - 1)).toBe(first);
    expect(firstPoll('main', 1_800_000, first)).toBe(first + 1_800_000);
  });

  test('differs from agent to agent', () => {
    const firsts = new Set(Array.from({ length: 100 }, (_, n) => firstPoll(`agent-${n}`, 3_600_000, 0)));
    expect(firsts.size).toBe(100);
  });

  test.each([
    [{ start: '08:00', end: '22:00' }, 'Europe/Berlin', '2026-01-15T06:59:00Z', false],
    [{ start: '08:00', end: '22:00' }, 'Europe/Berlin', '2026-01-15T07:00:00Z', true],
    [{ start: '08:00', end: '22:00' }, 'Europe/Berlin', '2026-07-15T06:00:00Z', true],
    [{ start: '08:00', end: '22:00' }, 'Europe/Berlin', '2026-01-15T21:00:00Z', false],
    [{ start: '22:00', end: '06:00' }, 'UTC', '2026-01-15T23:00:00Z', true],
    [{ start: '22:00', end: '06:00' }, 'UTC', '2026-01-15T05:59:00Z', true],
    [{ start: '22:00', end: '06:00' }, 'UTC', '2026-01-15T12:00:00Z', false],
    [{ start: '18:00', end: '24:00' }, 'UTC', '2026-01-15T23:59:00Z', true],
    [{ start: '09:00', end: '09:00' }, 'UTC', '2026-01-15T09:00:00Z', false],
  ])('hours %o in %s at %s', (hours, zone, at, expected) => {
    expect(isWithinHours(hours, zone, Date.parse(at))).toBe(expected);
  });
});

describe('HEARTBEAT.md', () => {
  test.each([
    ['', true],
    ['# Heartbeat\n\n## Tasks\n\n- \n- [ ]\n* \n1.\n', true],
    ['# Heartbeat\n```\n```\n<!-- keep\nempty -->\n', true],
    ['# Heartbeat\n- look at the mail', false],
    ['Look at the mail.', false],
  ])('%j asks for nothing: %s', (content, isEmpty) => {
    expect(readHeartbeatFile(content).isEmpty).toBe(isEmpty);
  });

  const file = readHeartbeatFile(
    [
      '# Heartbeat',
      '',
      'tasks:',
      '- name: inbox',
      '  interval: 30m',
      '  prompt: "Look for urgent mail."',
      '- name: logs',
      '  interval: 2h',
      '  prompt: Look at the logs.',
      '- name: nothing',
      '',
      '# Rules',
    ].join('\n'),
  );

  test('has tasks with intervals of their own', () => {
    expect(file).toEqual({
      isEmpty: false,
      hasMore: false,
      tasks: [
        { name: 'inbox', intervalMs: 1_800_000, prompt: 'Look for urgent mail.' },
        { name: 'logs', intervalMs: 7_200_000, prompt: 'Look at the logs.' },
      ],
    });
  });

  test('tasks are due when their interval is over, and their times are kept', () => {
    const hour = 3_600_000;
    expect(dueTasks(file.tasks, {}, hour).map(({ name }) => name)).toEqual(['inbox', 'logs']);
    const times = timesAfter(file, { gone: 5 }, file.tasks, hour);
    expect(times).toEqual({ inbox: hour, logs: hour });
    expect(dueTasks(file.tasks, times, hour + 1_800_000).map(({ name }) => name)).toEqual(['inbox']);
    expect(dueTasks(file.tasks, times, hour + 60_000)).toEqual([]);
  });
});

describe('a poll', () => {
  const input: PollInput = {
    occasion: 'interval',
    prompt: 'Read HEARTBEAT.md. If nothing needs attention, reply HEARTBEAT_OK.',
    tasks: [],
    hasMore: true,
    isDelivered: true,
    nowMs: Date.parse('2026-02-27T00:56:00Z'),
    zone: 'utc',
  };

  test('is the configured prompt with the time under it', () => {
    expect(pollText(input)).toBe(`${input.prompt}\nCurrent time: Fri 2026-02-27 00:56 UTC`);
    expect(pollText({ ...input, zone: 'Europe/Berlin' })).toContain('Current time: Fri 2026-02-27 01:56 GMT+1');
  });

  test('names the tasks that are due, and only these', () => {
    const text = pollText({ ...input, hasMore: false, tasks: [{ name: 'inbox', intervalMs: 1, prompt: 'Look.' }] });
    expect(text).toContain('- inbox: Look.');
    expect(text).toContain('reply HEARTBEAT_OK');
    expect(text).not.toContain('Read HEARTBEAT.md');
  });

  test('describes the event instead, and says whether the answer is delivered', () => {
    expect(occasionOf([null, 'cron:1'])).toBe('cron');
    expect(occasionOf(['exec:7', null])).toBe('exec');
    expect(occasionOf(['node:x', null])).toBe('interval');
    expect(pollText({ ...input, occasion: 'cron' })).toMatch(/^A reminder that was scheduled is due\..*Tell the user/);
    expect(pollText({ ...input, occasion: 'cron', isDelivered: false })).toMatch(/Your answer is not delivered/);
    expect(pollText({ ...input, occasion: 'exec' })).toMatch(/^A command that ran in the background has ended\./);
  });
});
