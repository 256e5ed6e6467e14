// Two turns side by side: their words, their facts, the tools that they called, and their requests.
import { useQueries, useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent, type ReactElement, type ReactNode } from 'react';
import { api, type Turn } from '../api.ts';
import { dollarsText, percentText } from '../format/amounts.ts';
import { beginningOf } from '../format/long-text.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { Empty, Status, Time } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { KeyLink, TurnLink } from '../parts/links.tsx';
import { Fault, haveBegun, Loading } from '../parts/loading.tsx';
import { Panel, PlainTable } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { ComparedRequests, DifferenceChip } from './compared-requests.tsx';
import { ComparedTools } from './compared-tools.tsx';
import { TextDifference } from './text-difference.tsx';

const route = getRouteApi('/app/compare');
/** The beginning of an error; its turn shows all of it. */
const ERROR_CHARS = 2_000;
const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i;

export function Compare(): ReactElement {
  const { a, b } = route.useSearch();
  const [first, second] = [useTurn(a), useTurn(b)];
  const hasBegun = (a === undefined || haveBegun(first)) && (b === undefined || haveBegun(second));
  return (
    <>
      <div className="row">
        <h1>Compare two turns</h1>
        <Swap />
      </div>
      <Choose key={`${a} ${b}`} a={a} b={b} />
      <Fault query={first} />
      <Fault query={second} />
      {!hasBegun && <Loading />}
      {(a === undefined || b === undefined) && (
        <Empty>
          Paste the ids or the addresses of two turns. The screen of a turn has a link that compares it with another.
        </Empty>
      )}
      {hasBegun && first.data !== undefined && second.data !== undefined && <Compared a={first.data} b={second.data} />}
    </>
  );
}

function useTurn(id: string | undefined) {
  return useQuery({
    queryKey: ['turn', id],
    queryFn: () => api.getTurn({ id: id ?? '' }),
    enabled: id !== undefined,
  });
}

function Swap(): ReactElement {
  const { a, b, callA, callB } = route.useSearch();
  const navigate = useNavigate({ from: '/compare' });
  const swapped = Object.entries({ a: b, b: a, callA: callB, callB: callA }).filter(([, value]) => value !== undefined);
  return (
    <Button
      disabled={a === undefined || b === undefined}
      onClick={() => void navigate({ search: Object.fromEntries(swapped), replace: true })}
    >
      Swap A and B
    </Button>
  );
}

/** Takes ids, and addresses that contain one. */
function Choose({ a, b }: { a: string | undefined; b: string | undefined }): ReactElement {
  const navigate = useNavigate({ from: '/compare' });
  const [texts, setTexts] = useState({ a: a ?? '', b: b ?? '' });
  const ids = { a: ID.exec(texts.a)?.[0].toLowerCase(), b: ID.exec(texts.b)?.[0].toLowerCase() };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void navigate({ search: Object.fromEntries(Object.entries(ids).filter(([, id]) => id !== undefined)) });
  };
  return (
    <form className="filters" onSubmit={submit}>
      {(['a', 'b'] as const).map((side) => (
        <label key={side} className="field">
          Turn {side.toUpperCase()}
          <input
            value={texts[side]}
            size={38}
            aria-invalid={texts[side] !== '' && ids[side] === undefined}
            onChange={(event) => setTexts({ ...texts, [side]: event.target.value })}
          />
          {texts[side] !== '' && ids[side] === undefined && <span className="soft">An id has 36 characters.</span>}
        </label>
      ))}
      <Button type="submit" tone="main" disabled={ids.a === undefined || ids.b === undefined}>
        Compare
      </Button>
    </form>
  );
}

function Compared({ a, b }: { a: Turn; b: Turn }): ReactElement {
  const inputs = useQueries({
    queries: [a, b].map(({ id, endedAt }) => ({
      queryKey: ['turn', id, 'inputs', endedAt],
      queryFn: () => api.getTurnInputs({ id }),
    })),
  });
  if (!haveBegun(...inputs)) return <Loading />;
  return (
    <>
      <Words a={a} b={b} asked={inputs.map(({ data }) => data?.messages.map(({ text }) => text).join('\n\n') ?? '')} />
      <Facts a={a} b={b} />
      <ComparedTools a={a} b={b} />
      {/* Last, because its data arrives later and would move everything below it. */}
      <ComparedRequests a={a} b={b} />
    </>
  );
}

/** What was asked and answered. */
function Words({ a, b, asked }: { a: Turn; b: Turn; asked: readonly string[] }): ReactElement {
  return (
    <Panel title="Words">
      <h3>Messages</h3>
      <TextDifference a={asked[0] ?? ''} b={asked[1] ?? ''} />
      <section aria-labelledby="replies">
        <h3 id="replies">Replies</h3>
        {a.reply === null && b.reply === null ? (
          <p className="soft">Neither turn has a reply.</p>
        ) : (
          <TextDifference a={a.reply ?? ''} b={b.reply ?? ''} />
        )}
      </section>
    </Panel>
  );
}

interface FactRow {
  name: string;
  /** What decides whether the turns differ: exact, where the text for people is rounded. */
  of: (turn: Turn) => string | number | null;
  /** How it is shown; absent: as its text. */
  show?: (turn: Turn) => ReactNode;
}

const cacheText = ({ usage }: Turn): string =>
  percentText(usage.cacheReadTokens, usage.cacheReadTokens + usage.inputTokens);
const waitedMs = ({ queuedAt, firstClaimedAt }: Turn): number => lengthMs(queuedAt, firstClaimedAt);
const tookMs = ({ startedAt, endedAt }: Turn): number => lengthMs(startedAt, endedAt);

const FACTS: readonly FactRow[] = [
  {
    name: 'Turn',
    of: ({ id }) => id,
    show: ({ id }) => <TurnLink id={id} />,
  },
  {
    name: 'Session',
    of: ({ sessionKey }) => sessionKey,
    show: ({ sessionKey }) => <KeyLink sessionKey={sessionKey} />,
  },
  { name: 'Agent', of: ({ sessionKey }) => sessionKey.split(':')[1] ?? '' },
  { name: 'Status', of: ({ status }) => status, show: ({ status }) => <Status status={status} /> },
  { name: 'Error', of: ({ error }) => (error === null ? 'none' : `${error.code}: ${error.message}`), show: shownError },
  { name: 'Kind and lane', of: ({ kind, lane }) => `${kind}, ${lane}` },
  { name: 'Model', of: ({ model }) => model },
  { name: 'Run by', of: ({ harness }) => harness?.id ?? 'Holdfast' },
  { name: 'Attempts', of: ({ attempt }) => attempt },
  { name: 'Steps', of: ({ stepCount }) => stepCount },
  { name: 'Tokens in', of: ({ usage }) => usage.inputTokens, show: ({ usage }) => exactText(usage.inputTokens) },
  { name: 'Tokens out', of: ({ usage }) => usage.outputTokens, show: ({ usage }) => exactText(usage.outputTokens) },
  { name: 'From the cache', of: ({ usage }) => usage.cacheReadTokens, show: shownCache },
  { name: 'Cost', of: ({ costMicros }) => costMicros, show: shownCost },
  { name: 'Waited', of: waitedMs, show: (turn) => durationText(waitedMs(turn)) },
  { name: 'Took', of: tookMs, show: (turn) => durationText(tookMs(turn)) },
  { name: 'Started', of: ({ startedAt }) => startedAt, show: ({ startedAt }) => <Time at={startedAt} /> },
];

function exactText(count: number): string {
  return count.toLocaleString('en-US');
}

function shownCache(turn: Turn): string {
  return `${cacheText(turn)} (${exactText(turn.usage.cacheReadTokens)})`;
}

/** To a millionth of a dollar, so that two different costs do not look equal. */
function shownCost({ costMicros, simulated }: Turn): string {
  const text = costMicros === null ? dollarsText(null) : `$${(costMicros / 1_000_000).toFixed(6)}`;
  return simulated ? `${text} (simulated)` : text;
}

function shownError({ error }: Turn): ReactNode {
  if (error === null) return 'none';
  return (
    <>
      <strong>{error.code}</strong> <SafeText text={beginningOf(error.message, ERROR_CHARS)} />
    </>
  );
}

const shownOf = ({ of, show }: FactRow, turn: Turn): ReactNode => show?.(turn) ?? <SafeText text={String(of(turn))} />;

function Facts({ a, b }: { a: Turn; b: Turn }): ReactElement {
  return (
    <Panel title="Turns">
      <div className="scroll-x" tabIndex={0} role="region" aria-label="Facts of both turns">
        <PlainTable
          columns={[
            { title: 'What', cell: ({ name }) => name },
            { title: 'A', cell: (fact) => shownOf(fact, a) },
            { title: 'B', cell: (fact) => shownOf(fact, b) },
            {
              title: 'Difference',
              isClear: true,
              cell: ({ of }) =>
                of(a) === of(b) ? <span className="soft">same</span> : <DifferenceChip state="changed" />,
            },
          ]}
          rows={FACTS}
          idOf={({ name }) => name}
        />
      </div>
    </Panel>
  );
}
