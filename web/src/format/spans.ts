// The stretches of a turn's time, in words.
import type { Span, Turn } from '../api.ts';
import type { TimelineRow } from './turn-tree.ts';
import { durationText } from './time.ts';

/** Stretches in which a turn only waits: where they are long, they are folded. */
const IDLE: ReadonlySet<TimelineRow['span']['kind']> = new Set([
  'gather',
  'lock.wait',
  'queue.wait',
  'rate.wait',
  'provider.wait',
  'worker.lost',
  'deliver',
  'announce',
]);

export const isIdle = ({ kind }: Pick<TimelineRow['span'], 'kind'>): boolean => IDLE.has(kind);

const SIGNS: Partial<Record<NonNullable<Span['status']>, string>> = {
  unknown: '?',
  failed: '✕',
  aborted: '✕',
  skipped: '–',
};

/** `tool exec`, `model.call 2`; with a sign and a word when it did not end well. */
export function spanName({ kind, name, n, status }: TimelineRow['span']): string {
  const what =
    kind === 'tool.exec'
      ? `tool ${name}`
      : kind === 'worker.lost'
        ? `lost: ${name}`
        : kind === 'subagent'
          ? name
          : n === null
            ? kind
            : `${kind} ${n}`;
  const sign = status === undefined ? undefined : SIGNS[status];
  return sign === undefined ? what : `${sign} ${what}, ${status}`;
}

/** How workers were lost, and which took over. */
export function lossesOf(attempts: NonNullable<Turn['attempts']>): string[] {
  return attempts.flatMap(({ how, worker, renewedAt, endedAt }, at) => {
    const next = attempts[at + 1];
    if (how !== 'lost' || renewedAt === null || endedAt === null || next === undefined) return [];
    const [lease, later] = [
      [renewedAt, endedAt],
      [endedAt, next.claimedAt],
    ].map(([from, to]) => durationText(Date.parse(to!) - Date.parse(from!)));
    return [
      `${worker ?? 'A process'} was lost: its lease ended after ${lease}, and ${next.worker ?? 'another one'} took over ${later} later.`,
    ];
  });
}
