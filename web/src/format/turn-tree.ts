// A turn and the turns of its subagents as rows of one timeline: each span, and below each subagent
// the spans of its turn.
import type { Span, Turn, TurnTree } from '../api.ts';
import { shortened } from './long-text.ts';

type Item = TurnTree['items'][number];
type Run = NonNullable<Item['run']>;

/** A span of a turn, or a subagent from its spawning to its end. */
export interface TimelineRow {
  span: Omit<Span, 'kind'> & { kind: Span['kind'] | 'subagent' };
  /** 0: a row of the turn itself. */
  depth: number;
  /** Of a model call or a turn of a subagent; null: it costs nothing. */
  costMicros: number | null;
  /** Null: a span. `id`: of its turn; null: it has begun none. */
  subagent: { key: string; id: string | null; isOpen: boolean } | null;
}

const NAME_CHARS_MAX = 80;
const STATUS_OF_RUN: Record<Run['status'], Span['status']> = {
  running: undefined,
  ok: undefined,
  failed: 'failed',
  timedOut: 'failed',
  killed: 'aborted',
};

/** True for a turn that may have spawned subagents. */
export function mayHaveSubagents({ steps }: Pick<Turn, 'steps'>): boolean {
  return steps.some(({ tools }) => tools.some(({ name }) => name === 'sessions_spawn' || name === 'subagents'));
}

/** The rows, in the order of time; those below a subagent whose key is in `closed` are not shown. */
export function timelineRowsOf(turn: Turn, items: readonly Item[], closed: ReadonlySet<string>): TimelineRow[] {
  const below = Map.groupBy(items, ({ parentTurnId }) => parentTurnId);
  const rows: TimelineRow[] = [];
  const add = (one: Turn, depth: number): void => {
    const costs = new Map(one.steps.flatMap(({ calls }) => calls.map((call) => [call.n, call.costMicros])));
    const found = [
      ...one.spans.map((span) => ({ at: span.startedAt, span, item: null })),
      ...(below.get(one.id) ?? []).flatMap((item) =>
        item.run === null
          ? []
          : [{ at: item.turn?.queuedAt ?? item.run.createdAt, span: null, item: { ...item, run: item.run } }],
      ),
    ].toSorted((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
    for (const { span, item } of found) {
      if (span !== null) {
        const isCall = span.kind === 'model.call' || span.kind === 'compaction';
        rows.push({ span, depth, costMicros: isCall ? (costs.get(span.n ?? 0) ?? null) : null, subagent: null });
      } else {
        const key = item.turn?.id ?? item.run.runId;
        const isOpen = !closed.has(key);
        rows.push(subagentRow(item, depth, { key, isOpen }));
        if (isOpen && item.turn !== null) add(item.turn, depth + 1);
      }
    }
  };
  add(turn, 0);
  return rows;
}

function subagentRow(
  { run, turn }: { run: Run; turn: Turn | null },
  depth: number,
  shown: { key: string; isOpen: boolean },
): TimelineRow {
  const status = STATUS_OF_RUN[run.status];
  const span: TimelineRow['span'] = {
    kind: 'subagent',
    name: shortened(run.label ?? run.task, NAME_CHARS_MAX),
    n: null,
    startedAt: turn?.queuedAt ?? run.createdAt,
    endedAt: turn === null ? run.endedAt : turn.endedAt,
    ...(status === undefined ? {} : { status }),
  };
  return { span, depth, costMicros: turn?.costMicros ?? null, subagent: { ...shown, id: turn?.id ?? null } };
}
