// One turn: its facts, the spans of its time, and its requests.
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Turn } from '../api.ts';
import { countText, percentText } from '../format/amounts.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { capitalised } from '../format/title.ts';
import { Age, Cost, Fact, Status, Time } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { NoData } from '../parts/loading.tsx';
import { LongText, SafeText } from '../parts/safe-text.tsx';
import { TagsFact } from '../parts/tags.tsx';
import { WhyText } from '../parts/why-text.tsx';
import { useFirst } from '../parts/show-more.tsx';
import { me } from '../me.ts';
import { Request } from './request.tsx';
import { ToolDetails } from './tool-details.tsx';
import { TurnAnnouncement, TurnDeliveries } from './turn-ends.tsx';
import { TurnPrompt, TurnTrigger } from './turn-prompt.tsx';
import { Waterfall } from './waterfall.tsx';

const route = getRouteApi('/app/turns/$id');
const TABS = ['timeline', 'steps', 'prompt', 'request', 'deliveries', 'announcement'] as const;
const RETRYABLE: ReadonlySet<string> = new Set(['failed', 'aborted', 'timedOut']);

export function TurnScreen(): ReactElement {
  const { id } = route.useParams();
  const { tab = 'timeline', call, against } = route.useSearch();
  const turn = useQuery({ queryKey: ['turn', id], queryFn: () => api.getTurn({ id }) });
  const { data } = turn;
  if (data === undefined) return <NoData query={turn} />;
  return (
    <>
      <div className="row">
        <h1>
          Turn <span className="mono">{id.slice(-6)}</span>
        </h1>
        <Status status={data.why !== null && data.status === 'running' ? 'waiting' : data.status} />
        <TurnActions turn={data} />
        <Neighbour id={data.previousTurnId} rel="prev" />
        <Neighbour id={data.nextTurnId} rel="next" />
        <CompareLink turn={data} />
      </div>
      {data.error !== null && (
        <div className="problem">
          <strong>
            <SafeText text={data.error.code} />
          </strong>
          <SafeText text={data.error.message} />
        </div>
      )}
      {data.why !== null && (
        <p>
          <WhyText why={data.why} />
        </p>
      )}
      <TurnFacts turn={data} />
      <Tabs id={id} tab={tab} />
      {tab === 'timeline' && <Waterfall turn={data} />}
      {tab === 'steps' && <Steps turn={data} />}
      {tab === 'prompt' && <TurnPrompt turn={data} />}
      {tab === 'request' && (
        <Request turn={data} call={Number(call ?? '1')} against={against === undefined ? null : Number(against)} />
      )}
      {tab === 'deliveries' && <TurnDeliveries turn={data} />}
      {tab === 'announcement' && <TurnAnnouncement turn={data} />}
      {data.reply !== null && (
        <section className="panel" aria-labelledby="reply">
          <h2 id="reply">Reply</h2>
          <LongText text={data.reply} />
        </section>
      )}
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
  return (
    <dl className="facts panel">
      <Fact name="Session">
        <Link to="/sessions/$key" params={{ key: turn.sessionKey }}>
          <SafeText text={turn.sessionKey} />
        </Link>
      </Fact>
      <Fact name="Trigger">
        <TurnTrigger turn={turn} />
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
      <TagsFact tags={turn.tags} />
      <Fact name="Cost">
        <Cost of={turn} />
      </Fact>
      <Fact name="Tokens">
        {countText(usage.inputTokens)} in, {countText(usage.outputTokens)} out
      </Fact>
      <Fact name="From the cache">{percentText(read, read + usage.inputTokens)}</Fact>
      <Fact name="Waited">{durationText(lengthMs(turn.queuedAt, turn.claimedAt))}</Fact>
      <Fact name="Took">{durationText(lengthMs(turn.startedAt, turn.endedAt))}</Fact>
      <Fact name="Started">
        <Time at={turn.startedAt} /> (<Age at={turn.startedAt} />)
      </Fact>
      <Fact name="Attempt and worker">
        {turn.attempt},{' '}
        <span className="mono">
          <SafeText text={turn.worker} />
        </span>
      </Fact>
      <Fact name="Id">
        <span className="mono">{turn.id}</span>
      </Fact>
    </dl>
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

function Steps({ turn }: { turn: Turn }): ReactElement {
  const { first, more } = useFirst(turn.steps);
  return (
    <>
      <div className="scroll-x">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">What</th>
              <th scope="col">State</th>
              <th scope="col">Took</th>
              <th scope="col">Tokens</th>
              <th scope="col">Cost</th>
            </tr>
          </thead>
          <tbody>
            {first.map((step) => (
              <StepRows key={step.n} turnId={turn.id} step={step} />
            ))}
          </tbody>
        </table>
      </div>
      {more}
    </>
  );
}

function StepRows({ turnId, step }: { turnId: string; step: Turn['steps'][number] }): ReactElement {
  return (
    <>
      {step.calls.map((call) => (
        <tr key={`call-${call.n}`}>
          <td>{step.n}</td>
          <td>
            <Link to="/turns/$id" params={{ id: turnId }} search={{ tab: 'request', call: String(call.n) }}>
              model call {call.n}
            </Link>{' '}
            {call.purpose === 'compaction' && <span className="chip">compaction</span>}
          </td>
          <td>
            <Status status={call.status} /> {call.error !== null && <SafeText text={call.error.message} />}
          </td>
          <td>{durationText(lengthMs(call.startedAt, call.endedAt))}</td>
          <td>
            {countText(call.usage.inputTokens)} in, {countText(call.usage.cacheReadTokens)} cached,{' '}
            {countText(call.usage.outputTokens)} out
          </td>
          <td>
            <Cost of={call} isInColumn />
          </td>
        </tr>
      ))}
      {step.tools.map((tool) => (
        <tr key={tool.callId}>
          <td>{step.n}</td>
          <td>
            tool{' '}
            <span className="mono">
              <SafeText text={tool.name} />
            </span>
            <ToolDetails turnId={turnId} callId={tool.callId} />
          </td>
          <td>
            <Status status={tool.status} />
          </td>
          <td>{durationText(lengthMs(tool.startedAt, tool.endedAt))}</td>
          <td />
          <td />
        </tr>
      ))}
    </>
  );
}

function TurnActions({ turn }: { turn: Turn }): ReactElement | null {
  const { data: who } = useSuspenseQuery(me);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<'abort' | 'retry' | null>(null);
  if (who.role === 'viewer') return null;
  const verb = turn.endedAt === null ? 'abort' : RETRYABLE.has(turn.status) ? 'retry' : null;
  return (
    <>
      {verb !== null && (
        <button
          type="button"
          className="button"
          data-tone={verb === 'abort' ? 'bad' : 'main'}
          onClick={() => setAsked(verb)}
        >
          {verb === 'abort' ? 'Abort…' : 'Retry…'}
        </button>
      )}
      {asked !== null && (
        <Confirm
          title={asked === 'abort' ? 'Abort this turn?' : 'Retry this turn?'}
          verb={asked === 'abort' ? 'Abort the turn' : 'Retry the turn'}
          onClose={() => setAsked(null)}
          perform={async () => {
            if (asked === 'abort') await api.abortTurn({ id: turn.id });
            else {
              await api.retryTurn({ id: turn.id });
              await navigate({ to: '/sessions/$key', params: { key: turn.sessionKey } });
            }
            void queries.invalidateQueries();
          }}
        >
          <p>
            {asked === 'abort'
              ? 'Its worker stops it within a second. Messages that wait in its session stay.'
              : 'Its messages wait again. When the session has newer turns, they come as new messages.'}
          </p>
        </Confirm>
      )}
    </>
  );
}
