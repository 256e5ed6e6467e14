// The tools that two turns called, side by side in their order, with their inputs and results.
import { useQueries } from '@tanstack/react-query';
import { useMemo, useState, type ReactElement } from 'react';
import type { Turn } from '../api.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { Status } from '../parts/bits.tsx';
import { Loading } from '../parts/loading.tsx';
import { Panel, PlainTable } from '../parts/panel.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useFirst } from '../parts/show-more.tsx';
import { alignItems } from './alignment.ts';
import { DifferenceChip } from './compared-requests.tsx';
import { TextDifference } from './text-difference.tsx';
import { toolCallQuery } from './tool-details.tsx';

type Tool = Turn['steps'][number]['tools'][number];

const toolsOf = (turn: Turn): Tool[] => turn.steps.flatMap(({ tools }) => tools);
const compared = (tool: Tool) => ({ kind: tool.name, text: tool.status });

export function ComparedTools({ a, b }: { a: Turn; b: Turn }): ReactElement {
  const pairs = useMemo(() => alignItems(toolsOf(a), toolsOf(b), compared), [a, b]);
  const { first, more } = useFirst(pairs);
  return (
    <Panel title="Tools in order">
      {pairs.length === 0 ? (
        <p className="soft">Neither turn has called a tool.</p>
      ) : (
        <div className="scroll-x" tabIndex={0} role="region" aria-label="Tools of both turns">
          <p className="soft">
            By name and state. Open a row to compare what the model called them with, and what came back.
          </p>
          <PlainTable
            columns={[
              { title: 'A', cell: (pair) => (pair.a === null ? '—' : <ToolCell tool={pair.a} />) },
              { title: 'B', cell: (pair) => (pair.b === null ? '—' : <ToolCell tool={pair.b} />) },
              {
                title: 'Difference',
                isClear: true,
                cell: (pair) => (
                  <>
                    <DifferenceChip state={pair.state} />
                    <PairDetails a={placeOf(a, pair.a)} b={placeOf(b, pair.b)} />
                  </>
                ),
              },
            ]}
            rows={first}
            idOf={(_pair, at) => at}
          />
        </div>
      )}
      {more}
    </Panel>
  );
}

function ToolCell({ tool }: { tool: Tool }): ReactElement {
  return (
    <>
      <span className="mono">
        <SafeText text={tool.name} />
      </span>{' '}
      <Status status={tool.status} /> {durationText(lengthMs(tool.startedAt, tool.endedAt))}
    </>
  );
}

interface Place {
  id: string;
  callId: string;
}

function placeOf({ id }: Turn, tool: Tool | null): Place | null {
  return tool === null ? null : { id, callId: tool.callId };
}

/** The inputs and results of both, loaded when they are opened. */
function PairDetails({ a, b }: { a: Place | null; b: Place | null }): ReactElement {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Arguments and results</summary>
      {isOpen && <LoadedPair a={a} b={b} />}
    </details>
  );
}

function LoadedPair({ a, b }: { a: Place | null; b: Place | null }): ReactElement {
  const calls = useQueries({ queries: [a, b].map((place) => toolCallQuery(place)) });
  const failed = calls.find(({ isError }) => isError);
  if (failed !== undefined) return <Problem error={failed.error} onRetry={() => void failed.refetch()} />;
  if (calls.some(({ data }) => data === undefined)) return <Loading />;
  const [first, second] = calls.map(({ data }) => data ?? null);
  return (
    <>
      <h3>Arguments</h3>
      <TextDifference a={first?.arguments ?? ''} b={second?.arguments ?? ''} />
      <h3>Results</h3>
      <TextDifference a={first?.result?.text ?? ''} b={second?.result?.text ?? ''} />
    </>
  );
}
