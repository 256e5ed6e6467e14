import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  alertsAfter,
  chooseOccasion,
  dueTasks,
  firstPoll,
  isWithinHours,
  pollText,
  readHeartbeatAnswer,
  timesAfter,
  type PollInput,
} from '../../src/core/heartbeat.ts';
import { readHeartbeatFile } from '../../src/features/heartbeats/read-heartbeat-file.ts';

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
    const day = 24 * 3_600_000;
    const [a, b] = [
      { sha256: 'a', atMs: 0 },
      { sha256: 'b', atMs: 1 },
    ];
    expect(alertsAfter([], a, 24)).toEqual([a]);
    expect(alertsAfter([a], b, 24)).toEqual([a, b]);
    // Also when another alert was sent between.
    expect(alertsAfter([a, b], { sha256: 'a', atMs: day - 1 }, 24)).toBeNull();
    expect(alertsAfter([a, b], { sha256: 'a', atMs: day }, 24)).toEqual([b, { sha256: 'a', atMs: day }]);
    expect(alertsAfter([a, b], { sha256: 'a', atMs: 2 }, 0)).toEqual([{ sha256: 'a', atMs: 2 }]);
    const many = Array.from({ length: 100 }, (_, n) => ({ sha256: `${n}`, atMs: n }));
    expect(alertsAfter(many, { sha256: 'a', atMs: 100 }, 24)).toHaveLength(100);
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
    [{ start: '09:00', end: '09:00' }, 'UTC', '2026-01-15T09:00:00Z', true],
    [{ start: '00:00', end: '00:00' }, 'UTC', '2026-01-15T12:00:00Z', true],
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
      '',
      '# Rules',
    ].join('\n'),
  );

  test('has tasks with intervals of their own', () => {
    expect(file).toEqual({
      isEmpty: false,
      hasMore: false,
      faults: [],
      tasks: [
        { name: 'inbox', intervalMs: 1_800_000, prompt: 'Look for urgent mail.' },
        { name: 'logs', intervalMs: 7_200_000, prompt: 'Look at the logs.' },
      ],
    });
  });

  const read = (...lines: string[]) => readHeartbeatFile(lines.join('\n'));
  const task = (...lines: string[]) => read('tasks:', ...lines.map((line, at) => `${at === 0 ? '- ' : '  '}${line}`));

  test.each([
    ['1h30m', 5_400_000],
    ['"1h 30m"', 5_400_000],
    ['1w', 604_800_000],
    ['1.5H', 5_400_000],
    ['500ms', 500],
  ])('has intervals that are durations as everywhere: %s', (interval, intervalMs) => {
    expect(task('name: a', `interval: ${interval}`, 'prompt: Look.')).toMatchObject({
      tasks: [{ intervalMs }],
      faults: [],
    });
  });

  test('may have texts of several lines, quotation marks, flow lists, several blocks, and no list for one task', () => {
    const file = read(
      '```yaml',
      'tasks:',
      '  - name: 007',
      '    interval: 1h',
      '    prompt: |',
      '      Look at the mail:',
      '      - urgent',
      '',
      '      - private',
      '  - {name: yes, interval: 2h, prompt: "Look: at #logs"}',
      '```',
      'tasks:',
      '  name: c',
      '  interval: 1d',
      '  prompt: >-',
      '    Look at',
      '    the door.',
      'tasks: are above.',
    );
    expect(file).toEqual({
      isEmpty: false,
      hasMore: true,
      faults: [],
      tasks: [
        { name: '007', intervalMs: 3_600_000, prompt: 'Look at the mail:\n- urgent\n\n- private' },
        { name: 'yes', intervalMs: 7_200_000, prompt: 'Look: at #logs' },
        { name: 'c', intervalMs: 86_400_000, prompt: 'Look at the door.' },
      ],
    });
  });

  test.each<[string[], string]>([
    [
      ['name: a', 'interval: 90 minutes', 'prompt: x'],
      'line 2: interval of the task "a" is "90 minutes"; allowed: a dur',
    ],
    [
      ['name: a', 'interval: 30min', 'prompt: x'],
      'line 2: interval of the task "a" is "30min"; allowed: a duration such',
    ],
    [
      ['name: a', 'interval: 30', 'prompt: x'],
      'line 2: interval of the task "a" is "30"; allowed: a duration such as 30m',
    ],
    [['interval: 1h', 'prompt: x'], 'line 2: the task has no name'],
    [['name: a', 'prompt: x'], 'line 2: the task "a" has no interval'],
    [['name: a', 'interval: 1h', 'prompt:'], 'line 2: prompt of the task "a" is empty'],
    [['name: a', 'interval: 1h', 'prompt: [x]'], 'line 2: prompt of the task "a" is not a text'],
    [['name: a', 'interval: 1h', 'prompt: Look at: mail'], 'line 4: is not YAML: Nested mappings are not allowed'],
    [['name: a', 'interval: 1h', 'prompt: @home'], 'line 4: is not YAML: Plain value cannot start with reserved'],
    [['name: a', 'name: b', 'interval: 1h', 'prompt: x'], 'line 3: is not YAML: Map keys must be unique'],
    [['Look at the mail.'], 'line 2: is not a task; allowed: a list item with name, interval, prompt'],
    [['&a x', '- *a'], 'line 2: is not a task'],
  ])('names an entry that cannot be read, and reads the others: %j', (lines, fault) => {
    const file = read(
      'tasks:',
      ...lines.map((line, at) => `${at === 0 ? '- ' : '  '}${line}`),
      '- name: good',
      '  interval: 1h',
      '  prompt: Look.',
    );
    expect(file.tasks.map(({ name }) => name)).toEqual(['good']);
    expect(file.faults).toEqual([expect.stringContaining(fault)]);
    expect(task(...lines)).toMatchObject({ isEmpty: false, tasks: [], faults: [expect.stringContaining(fault)] });
  });

  test('names what is read in another way than it looks', () => {
    const file = read(
      'tasks:',
      '<!-- two',
      'lines -->- name: a',
      '  interval: 1h',
      '  prompt: Look at #logs',
      '- name: a',
      '  interval: 1h',
      '  prompt: Again.',
      '- name: b',
      '  interval: 1h',
      `  prompt: ${'x'.repeat(4_001)}`,
      '  every: 1h',
    );
    expect(file.tasks).toMatchObject([
      { name: 'a', prompt: 'Look at' },
      { name: 'b', prompt: 'x'.repeat(4_000) },
    ]);
    expect(file.faults).toEqual([
      'line 3: the prompt of the task "a" ends before "#logs", which is a comment in YAML; put the prompt in quotation marks',
      'line 9: the task "b" has the unknown fields every; known: name, interval, prompt',
      'line 9: the prompt of the task "b" has 4001 characters, and only 4000 are used',
      'line 6: another task has the name "a"; give each its own',
    ]);
    const many = Array.from({ length: 51 }, (_, n) => `- {name: n${n}, interval: 1h, prompt: x}`);
    expect(read('tasks:', ...many)).toMatchObject({
      tasks: { length: 50 },
      faults: ['line 52: the task "n50" is beyond the 50 that are allowed'],
    });
    expect(read('tasks:', `- ${'x'.repeat(250_001)}`).faults).toEqual([expect.stringContaining('more than 250000')]);
  });

  test('loses no task: each entry of a list is read or named', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '1', 'h', ':', ' ', '#', '"', "'", '-', '[', '{', '|', '&', '*', '%', '\t'),
    });
    const entry = fc.record({ name: text, interval: fc.oneof(fc.constant('1h'), text), prompt: text });
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 4 }), (entries) => {
        const lines = entries.flatMap(({ name, interval, prompt }) => [
          `- name: ${name}`,
          `  interval: ${interval}`,
          `  prompt: ${prompt}`,
        ]);
        const { tasks, faults } = read('tasks:', ...lines);
        if (faults.length === 0) expect(tasks).toHaveLength(entries.length);
      }),
    );
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
    faults: [],
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

  test('ends with what cannot be read as a task', () => {
    const faults = Array.from({ length: 12 }, (_, n) => `line ${n}: no`);
    const text = pollText({ ...input, faults });
    expect(text).toMatch(
      /HEARTBEAT_OK\.\n\nThese lines of HEARTBEAT\.md cannot be read as tasks\. .*:\n\n- line 0: no\n/,
    );
    expect(text).toMatch(/\n- line 9: no\n- and 2 more\nCurrent time: /);
    expect(pollText({ ...input, occasion: 'cron', faults })).not.toContain('line 0');
  });

  test('describes the event instead, and says whether the answer is delivered', () => {
    expect(chooseOccasion([null, 'cron:1'])).toBe('cron');
    expect(chooseOccasion(['exec:7', null])).toBe('exec');
    expect(chooseOccasion(['node:x', null])).toBe('interval');
    expect(pollText({ ...input, occasion: 'cron' })).toMatch(/^A reminder that was scheduled is due\..*Tell the user/);
    expect(pollText({ ...input, occasion: 'cron', isDelivered: false })).toMatch(/Your answer is not delivered/);
    expect(pollText({ ...input, occasion: 'exec' })).toMatch(/^A command that ran in the background has ended\./);
  });
});
