import { expect, test } from 'vitest';
import type { TurnView } from '../../src/contract/views.ts';
import { waterfallLines } from '../../src/cli/turn-timeline.ts';

const at = (ms: number): string => new Date(Date.parse('2026-01-12T20:19:17.000Z') + ms).toISOString();
type Span = TurnView['spans'][number];
const span = (kind: Span['kind'], name: string, from: number, to: number | null, n: number | null = null): Span => ({
  kind,
  name,
  n,
  startedAt: at(from),
  endedAt: to === null ? null : at(to),
});
const turn = (status: TurnView['status'], spans: Span[]): TurnView => ({ status, spans }) as TurnView;
const canvas = { width: 60, rowsMax: 100, nowMs: Date.parse(at(1000)), paint: (_style: string, text: string) => text };

const STEPS = [
  span('queue.wait', 'waiting', 0, 100),
  span('model.call', 'm', 100, 600, 1),
  span('tool.exec', 'exec', 600, 800, 1),
];

test('each span is a row with a bar at its time, and its duration', () => {
  const drawn = waterfallLines(turn('completed', [...STEPS, span('model.call', 'm', 800, 1000, 2)]), canvas);
  expect(drawn).toEqual([
    'queue.wait   │████                                │    100ms',
    'model.call 1 │    ██████████████████              │    500ms',
    'tool exec    │                      ███████       │    200ms',
    'model.call 2 │                             ███████│    200ms',
  ]);
  for (const line of drawn) expect(line.length).toBeLessThanOrEqual(canvas.width);
});

test('open spans reach to the edge, also the model call of a running turn, which has no row yet', () => {
  const open = waterfallLines(turn('running', [...STEPS.slice(0, 2), span('tool.exec', 'exec', 600, null, 1)]), canvas);
  expect(open.at(-1)).toBe('tool exec    │                      ░░░░░░░░░░░░░░│    400ms');
  expect(waterfallLines(turn('running', STEPS), canvas).at(-1)).toBe(
    'model.call   │                             ░░░░░░░│    200ms',
  );
  expect(waterfallLines(turn('parked', STEPS), canvas)).toHaveLength(3);
});

test('of more rows than there is room for the last are drawn, and a long name is cut', () => {
  const many = Array.from({ length: 9 }, (_, n) => span('tool.exec', `tool-${n}`, n * 100, n * 100 + 100));
  const drawn = waterfallLines(turn('completed', many), { ...canvas, rowsMax: 4 });
  expect(drawn.map((line) => line.slice(0, 12).trim())).toEqual([
    '… 6 earlier',
    'tool tool-6',
    'tool tool-7',
    'tool tool-8',
  ]);
  const long = waterfallLines(turn('completed', [span('tool.exec', 'a'.repeat(80), 0, 10)]), canvas);
  expect(long[0]).toContain('aaa… │');
  expect(long[0]!.length).toBe(canvas.width);
});

test('a clock of this machine that is slow draws nothing outside the rules', () => {
  const [line] = waterfallLines(turn('running', [span('queue.wait', 'waiting', 5000, null)]), canvas);
  expect(line).toMatch(/^queue\.wait │.{38}│ {6}0ms$/);
});
