// The steps of a turn as a list: each leads to its part of the timeline.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Turn } from '../api.ts';
import { namedCountText } from '../format/amounts.ts';
import type { Stretch } from '../format/folded-axis.ts';
import { durationText, serverNowMs } from '../format/time.ts';
import { Status } from '../parts/bits.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useFirst } from '../parts/show-more.tsx';
import { textOf } from './timeline-range.tsx';

type Step = Turn['steps'][number];

/** Names of tools that a line has. */
const NAMES_SHOWN = 5;

export function TurnOutline({ turn, beginsMs }: { turn: Turn; beginsMs: number }): ReactElement | null {
  const steps = turn.steps.filter(({ calls, tools }) => calls.length + tools.length > 0);
  const { first, more } = useFirst(steps);
  if (steps.length === 0) return null;
  return (
    <details>
      <summary>Outline: {namedCountText(steps.length, 'step')}</summary>
      <ol className="plain-list" aria-label="Outline">
        {first.map((step) => (
          <OutlineStep key={step.n} turnId={turn.id} step={step} beginsMs={beginsMs} />
        ))}
      </ol>
      {more}
    </details>
  );
}

function OutlineStep(props: { turnId: string; step: Step; beginsMs: number }): ReactElement {
  const { turnId, step, beginsMs } = props;
  const { startMs, endMs } = stretchOf(step);
  const [from, to] = [textOf(startMs - beginsMs), textOf(endMs - beginsMs)];
  const names = [...new Set(step.tools.map(({ name }) => name))];
  const failed = [...step.calls, ...step.tools].find(({ status }) => status === 'failed');
  return (
    <li>
      <Link to="/turns/$id" params={{ id: turnId }} search={(before) => ({ ...before, from, to })} resetScroll={false}>
        Step {step.n}
      </Link>{' '}
      {namedCountText(step.calls.length, 'call')}
      {names.length > 0 && ', '}
      <SafeText text={names.slice(0, NAMES_SHOWN).join(', ')} />
      {names.length > NAMES_SHOWN && ` and ${names.length - NAMES_SHOWN} more`}{' '}
      <span className="soft">{durationText(endMs - startMs)}</span> {failed !== undefined && <Status status="failed" />}
    </li>
  );
}

/** From the first start to the last end of what a step did; at least a millisecond. */
function stretchOf({ calls, tools }: Step): Stretch {
  const done = [...calls, ...tools];
  const startMs = Math.min(...done.map(({ startedAt }) => Date.parse(startedAt)));
  const endMs = Math.max(...done.map(({ endedAt }) => (endedAt === null ? serverNowMs() : Date.parse(endedAt))));
  return { startMs, endMs: Math.max(startMs + 1, endMs) };
}
