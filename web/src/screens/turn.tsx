// One turn: what came in and what was answered, its steps, where its time went, and its requests.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, Suspense, type ReactElement } from 'react';
import { api, type Turn } from '../api.ts';
import { countText, percentText } from '../format/amounts.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { capitalised } from '../format/title.ts';
import { Age, Cost, Fact, Time } from '../parts/bits.tsx';
import { Decisions } from '../parts/delivery-details.tsx';
import { haveBegun, Loading, NoData } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { TagsFact } from '../parts/tags.tsx';
import { TurnStatus } from '../parts/turn-status.tsx';
import { Scores } from './scores.tsx';
import { TryTurn } from './try-dialog.tsx';
import { TurnActions } from './turn-actions.tsx';
import { Steps } from './turn-steps.tsx';
import { TurnWords, useDeadDelivery, useInputs } from './turn-words.tsx';
import { Waterfall } from './waterfall.tsx';

// What another tab shows is loaded with it.
const ends = () => import('./turn-ends.tsx');
const Request = lazy(async () => ({ default: (await import('./request.tsx')).Request }));
const TurnPrompt = lazy(async () => ({ default: (await import('./turn-prompt.tsx')).TurnPrompt }));
const TurnDeliveries = lazy(async () => ({ default: (await ends()).TurnDeliveries }));
const TurnAnnouncement = lazy(async () => ({ default: (await ends()).TurnAnnouncement }));

const route = getRouteApi('/app/turns/$id');
const TABS = ['steps', 'timeline', 'prompt', 'request', 'deliveries', 'announcement'] as const;

export function TurnScreen(): ReactElement {
  const { id } = route.useParams();
  const turn = useQuery({ queryKey: ['turn', id], queryFn: () => api.getTurn({ id }) });
  return turn.data === undefined ? <NoData query={turn} /> : <KnownTurn turn={turn.data} />;
}

function KnownTurn({ turn: data }: { turn: Turn }): ReactElement {
  const { id } = data;
  const { tab = 'steps', call, against } = route.useSearch();
  const delivery = useDeadDelivery(data);
  // They stand above all else.
  const isReady = haveBegun(useInputs(data)) && (data.endedAt === null || haveBegun(delivery));
  if (!isReady) return <Loading />;
  return (
    <>
      <div className="row">
        <h1>
          Turn <span className="mono">{id.slice(-6)}</span>
        </h1>
        <TurnStatus turn={data} />
        <span className="row end">
          <TurnActions turn={data} />
          {delivery.data != null && <Decisions delivery={delivery.data} verb="redrive" />}
          <Neighbour id={data.previousTurnId} rel="prev" />
          <Neighbour id={data.nextTurnId} rel="next" />
          <CompareLink turn={data} />
          <TryTurn turn={data} />
        </span>
      </div>
      <TurnWords turn={data} />
      <Scores turn={data} />
      <TurnFacts turn={data} />
      <Tabs id={id} tab={tab} />
      {tab === 'steps' && <Steps turn={data} />}
      {(tab === 'steps' || tab === 'timeline') && <Waterfall turn={data} />}
      <Suspense fallback={<p className="soft">Loading…</p>}>
        {tab === 'prompt' && <TurnPrompt turn={data} />}
        {tab === 'request' && (
          <Request turn={data} call={Number(call ?? '1')} against={against === undefined ? null : Number(against)} />
        )}
        {tab === 'deliveries' && <TurnDeliveries turn={data} />}
        {tab === 'announcement' && <TurnAnnouncement turn={data} />}
      </Suspense>
    </>
  );
}

/** To the turn before or after it in its session, in the same view. */
function Neighbour({ id, rel }: { id: string | null | undefined; rel: 'prev' | 'next' }): ReactElement | null {
  if (id === null || id === undefined) return null;
  return (
    <Link
      className="button"
      to="/turns/$id"
      params={{ id }}
      search={({ tab }) => (tab === undefined ? {} : { tab })}
      rel={rel}
    >
      {rel === 'prev' ? '← Previous' : 'Next →'}
    </Link>
  );
}

/** The link to a comparison with the previous turn of its session, which can be replaced there. */
function CompareLink({ turn: { id, previousTurnId } }: { turn: Turn }): ReactElement {
  return (
    <Link className="button" to="/compare" search={previousTurnId ? { a: previousTurnId, b: id } : { a: id }}>
      Compare…
    </Link>
  );
}

function TurnFacts({ turn }: { turn: Turn }): ReactElement {
  const { usage } = turn;
  const read = usage.cacheReadTokens;
  const waited = durationText(lengthMs(turn.queuedAt, turn.firstClaimedAt));
  const took = durationText(lengthMs(turn.startedAt, turn.endedAt));
  return (
    <details className="panel turn-facts">
      <summary>
        Facts: waited {waited}, took {took}, <Cost of={turn} />, <SafeText text={turn.model} />
      </summary>
      <dl className="facts">
        <Fact name="Session">
          <Link to="/sessions/$key" params={{ key: turn.sessionKey }}>
            <SafeText text={turn.sessionKey} />
          </Link>
        </Fact>
        <Fact name="Kind and lane">
          {turn.kind}, {turn.lane}
        </Fact>
        <Fact name="Model">
          <SafeText text={turn.model} />
          {turn.askedModel !== null && (
            <>
              {' instead of '}
              <SafeText text={turn.askedModel} />
            </>
          )}
        </Fact>
        <Fact name="Provider">
          <SafeText text={turn.provider} />
        </Fact>
        <TagsFact tags={turn.tags} />
        <Fact name="Cost">
          <Cost of={turn} />
        </Fact>
        <Fact name="Tokens">
          {countText(usage.inputTokens)} in, {countText(usage.outputTokens)} out
        </Fact>
        <Fact name="From the cache">{percentText(read, read + usage.inputTokens)}</Fact>
        <Fact name="Waited">{waited}</Fact>
        <Fact name="Took">{took}</Fact>
        <Fact name="Started">
          <Time at={turn.startedAt} /> (<Age at={turn.startedAt} />)
        </Fact>
        <Fact name="Attempt and worker">
          {turn.attempt},{' '}
          <span className="mono">
            <SafeText text={turn.worker ?? 'a process'} />
          </span>
        </Fact>
        <Fact name="Id">
          <span className="mono">{turn.id}</span>
        </Fact>
      </dl>
    </details>
  );
}

function Tabs({ id, tab }: { id: string; tab: string }): ReactElement {
  return (
    <div className="tabs" role="tablist" aria-label="Views of the turn">
      {TABS.map((name) => (
        <Link
          key={name}
          role="tab"
          aria-selected={name === tab}
          to="/turns/$id"
          params={{ id }}
          search={(before) => ({ ...before, tab: name })}
          replace
        >
          {capitalised(name)}
        </Link>
      ))}
    </div>
  );
}
