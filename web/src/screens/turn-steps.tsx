// The steps of a turn as a list to read: each model call with its tokens and its cost, and its
// tools in one line each.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useMemo, type ReactElement } from 'react';
import { api, type Entry, type Turn } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { Chip, Cost, Empty, Status } from '../parts/bits.tsx';
import { Panel } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useFirst } from '../parts/show-more.tsx';
import { callMs, type CallState, type CallWords } from '../words/calls.ts';
import { ToolLine } from '../words/tool-line.tsx';
import { LoadedDetails } from './tool-details.tsx';

type Step = Turn['steps'][number];
type Call = Step['calls'][number];
type Tool = Step['tools'][number];

const STEPS_SHOWN = 20;
/** A step has at most two entries: the answer and the results. */
const ENTRIES = 4 * STEPS_SHOWN;
/** Of the entries, only the words of their calls are shown. */
const PART_CHARS = 1;

export function Steps({ turn }: { turn: Turn }): ReactElement {
  const { first, more } = useFirst(turn.steps, STEPS_SHOWN);
  const words = useWords(turn, first.length);
  const calls = first.flatMap((step) => step.calls);
  if (turn.steps.length === 0) return <Empty>The turn has made no step yet.</Empty>;
  return (
    <Panel title="Steps">
      <ol className="steps" aria-label="Steps">
        {first.map((step) => (
          <li key={step.n}>
            <div>
              {step.calls.map((call) => (
                <CallLine key={call.n} turnId={turn.id} call={call} before={callBefore(calls, call)} />
              ))}
            </div>
            <div>
              {step.tools.map((tool) => (
                <ToolLine
                  key={tool.callId}
                  id={tool.callId}
                  name={tool.name}
                  state={stateOf(tool, turn)}
                  waitsFor={tool.waitsFor}
                  ms={callMs(stateOf(tool, turn), tool)}
                  words={words.get(tool.callId) ?? UNSAID}
                  details={() => <LoadedDetails id={turn.id} callId={tool.callId} />}
                />
              ))}
            </div>
          </li>
        ))}
      </ol>
      {more}
    </Panel>
  );
}

interface CallLineOptions {
  turnId: string;
  call: Call;
  /** The call before; undefined: there is none. */
  before: Call | undefined;
}

function callBefore(calls: readonly Call[], call: Call): Call | undefined {
  return calls[calls.indexOf(call) - 1];
}

function CallLine({ turnId, call, before }: CallLineOptions): ReactElement {
  const { inputTokens, cacheReadTokens, outputTokens } = call.usage;
  return (
    <p className="call-line">
      <Link to="/turns/$id" params={{ id: turnId }} search={{ tab: 'request', call: String(call.n) }}>
        model call {call.n}
      </Link>
      {call.purpose !== 'answer' && <Chip>{call.purpose}</Chip>}
      {call.fallbackReason !== null && (
        <Chip>
          <SafeText text={call.model ?? ''} />
        </Chip>
      )}
      {call.key !== null && call.key !== 'default' && call.key !== before?.key && (
        <Chip>
          key <SafeText text={call.key} />
        </Chip>
      )}
      {call.status !== 'ok' && <Status status={call.status} />}
      <span className="soft">
        {countText(inputTokens)} in, {countText(cacheReadTokens)} cached, {countText(outputTokens)} out ·{' '}
        <Cost of={call} /> · {durationText(lengthMs(call.startedAt, call.endedAt))}
      </span>
      {call.error !== null && <SafeText text={call.error.message} />}
      {call.fallbackReason !== null && call.model !== before?.model && (
        <span>
          The turn stepped down to this model. <SafeText text={call.fallbackReason} />
        </span>
      )}
    </p>
  );
}

function stateOf({ status }: Tool, { endedAt }: Turn): CallState {
  if (status !== 'intent') return status;
  return endedAt === null ? 'running' : 'unknown';
}

const UNSAID: CallWords = { input: null, result: null };

/** The words of calls by their ids. They are read as far as the steps are shown. */
function useWords({ id, stepCount, endedAt }: Turn, shown: number): ReadonlyMap<string, CallWords> {
  const { data, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery({
    queryKey: ['turn', id, 'entries', endedAt ?? stepCount],
    queryFn: ({ pageParam, signal }) =>
      api.listTurnEntries({ id, partChars: PART_CHARS, limit: ENTRIES, cursor: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const entries = data?.pages.flatMap(({ items }) => items);
  const isBehind = entries !== undefined && entries.length < 2 * shown + 1;
  useEffect(() => {
    if (isBehind && hasNextPage && !isFetching) void fetchNextPage();
  }, [isBehind, hasNextPage, isFetching, fetchNextPage]);
  return useMemo(() => wordsOf(data?.pages.flatMap(({ items }) => items) ?? []), [data]);
}

function wordsOf(entries: readonly Entry[]): Map<string, CallWords> {
  const found = new Map<string, CallWords>();
  for (const { kind, calls } of entries)
    for (const { id, words } of calls)
      found.set(id, { ...(found.get(id) ?? UNSAID), [kind === 'answer' ? 'input' : 'result']: words });
  return found;
}
