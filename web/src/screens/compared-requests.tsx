// The exact requests of two model calls, part by part, with the lines in which they differ.
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useMemo, useState, type ReactElement, type ReactNode } from 'react';
import type { ModelRequest, Turn } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { partText, type Part } from '../format/request-text.ts';
import { Chip } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { Fault, Loading } from '../parts/loading.tsx';
import { Panel, PlainTable } from '../parts/panel.tsx';
import { LongText, SafeText } from '../parts/safe-text.tsx';
import { useFirst } from '../parts/show-more.tsx';
import { alignItems, comparedSettings, type Pair } from './alignment.ts';
import { Choice, Filters } from './filters.tsx';
import { useRequest } from './request.tsx';
import { TextDifference } from './text-difference.tsx';

const route = getRouteApi('/app/compare');

interface ShownPart {
  part: Part;
  text: string;
}

const callsOf = (turn: Turn): string[] => turn.steps.flatMap(({ calls }) => calls.map(({ n }) => String(n)));

export function ComparedRequests({ a, b }: { a: Turn; b: Turn }): ReactElement {
  const { callA, callB } = route.useSearch();
  const navigate = useNavigate({ from: '/compare' });
  const [callsOfA, callsOfB] = [callsOf(a), callsOf(b)];
  const first = useRequest(a.id, Number(callA ?? '1'), callsOfA.length > 0);
  const second = useRequest(b.id, Number(callB ?? '1'), callsOfB.length > 0);
  const choose = (part: { callA?: string | undefined; callB?: string | undefined }): void =>
    void navigate({
      search: (before) =>
        Object.fromEntries(Object.entries({ ...before, ...part }).filter(([, value]) => value !== undefined)),
      replace: true,
    });
  return (
    <Panel title="What the model was sent">
      <Filters>
        <Choice name="Call of A" value={callA ?? '1'} options={callsOfA} onChange={(n) => choose({ callA: n })} />
        <Choice name="Call of B" value={callB ?? '1'} options={callsOfB} onChange={(n) => choose({ callB: n })} />
      </Filters>
      {(callsOfA.length === 0 || callsOfB.length === 0) && (
        <p className="soft">A turn that has made no model call has no request.</p>
      )}
      <Fault query={first} />
      <Fault query={second} />
      {(first.isFetching || second.isFetching) && <Loading />}
      {first.data !== undefined && second.data !== undefined && (
        <>
          <Settings a={first.data} b={second.data} />
          <Parts a={first.data} b={second.data} />
        </>
      )}
    </Panel>
  );
}

const textOf = (value: string | null): ReactNode => (value === null ? '—' : <SafeText text={value} />);

/**
 * The fields of a request besides its parts, such as the model, thinking and the maximum tokens of
 * an answer.
 */
function Settings({ a, b }: { a: ModelRequest; b: ModelRequest }): ReactElement {
  return (
    <PlainTable
      caption="Settings of both requests"
      columns={[
        { title: 'Setting', cell: ({ name }) => <SafeText text={name} /> },
        { title: 'A', className: 'mono', cell: (setting) => textOf(setting.a) },
        { title: 'B', className: 'mono', cell: (setting) => textOf(setting.b) },
        {
          title: 'Difference',
          isClear: true,
          cell: ({ state }) =>
            state === 'same' ? <span className="soft">same</span> : <DifferenceChip state={state} />,
        },
      ]}
      rows={comparedSettings(a.request, b.request)}
      idOf={({ name }) => name}
    />
  );
}

function shownPartsOf({ request, parts }: ModelRequest): ShownPart[] {
  return parts.map((part) => ({ part, text: partText(request, part) }));
}

function Parts({ a, b }: { a: ModelRequest; b: ModelRequest }): ReactElement {
  const [areAllShown, setAllShown] = useState(false);
  const pairs = useMemo(
    () =>
      alignItems(shownPartsOf(a), shownPartsOf(b), ({ part, text }) => ({ kind: `${part.name} ${part.origin}`, text })),
    [a, b],
  );
  const sameCount = pairs.filter(({ state }) => state === 'same').length;
  const { first, more } = useFirst(areAllShown ? pairs : pairs.filter(({ state }) => state !== 'same'));
  return (
    <>
      <p className="row">
        <span>
          {countText(sameCount)} of {countText(pairs.length)} parts are the same.
        </span>
        {sameCount > 0 && (
          <Button aria-pressed={areAllShown} onClick={() => setAllShown(!areAllShown)}>
            Show them too
          </Button>
        )}
      </p>
      {first.map((pair, index) => (
        <PartPair key={`${index} ${areAllShown}`} pair={pair} />
      ))}
      {more}
    </>
  );
}

function PartPair({ pair: { state, a, b } }: { pair: Pair<ShownPart> }): ReactElement {
  // One of them is there.
  const { part } = (a ?? b)!;
  return (
    <details className="part" data-trust={part.trust} open={state === 'changed'}>
      <summary className="row">
        <strong>{part.name}</strong>
        <DifferenceChip state={state} />
        <span className="soft">
          {part.trust}, <SafeText text={part.origin} />, {countText(a?.part.tokens ?? 0)} and{' '}
          {countText(b?.part.tokens ?? 0)} tokens
        </span>
      </summary>
      {state === 'changed' ? (
        <TextDifference a={a?.text ?? ''} b={b?.text ?? ''} />
      ) : (
        <LongText text={(a ?? b)?.text ?? ''} />
      )}
    </details>
  );
}

const TONES: Readonly<Record<Pair<unknown>['state'], string>> = {
  same: 'good',
  changed: 'warn',
  'only A': 'bad',
  'only B': 'live',
};

/** Says in a word how two sides differ; the colour repeats it. */
export function DifferenceChip({ state }: { state: Pair<unknown>['state'] }): ReactElement {
  return <Chip tone={TONES[state]}>{state}</Chip>;
}
