// One session: its transcript, newest first, the reply that is being streamed, and the actions on it.
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect, useState, type ReactElement } from 'react';
import { api, type Session } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { Age, Cost, Fact, Status } from '../parts/bits.tsx';
import { ContextBar } from '../parts/context-bar.tsx';
import { Loading } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { LongText, SafeText } from '../parts/safe-text.tsx';
import { TagsFact } from '../parts/tags.tsx';
import { WhyText } from '../parts/why-text.tsx';
import { me } from '../me.ts';
import { useSettings } from '../settings.tsx';
import { Composer } from './composer.tsx';
import { SessionActions } from './session-actions.tsx';
import { SessionHistory } from './session-history.tsx';
import { Transcript } from './transcript.tsx';

const route = getRouteApi('/app/sessions/$key');
/** Of the queue: this many messages, and this much of each. */
const WAITING_SHOWN = 10;
const WAITING_CHARS = 200;
/** How often a session with an open turn is read again, in milliseconds. */
const OPEN_POLL_MS = 5_000;

export function SessionScreen(): ReactElement {
  const { key } = route.useParams();
  const { data: who } = useSuspenseQuery(me);
  const { isLive } = useSettings();
  const session = useQuery({
    queryKey: ['session', key],
    queryFn: () => api.getSession({ key }),
    // That its worker is lost is no event.
    refetchInterval: ({ state }) => (isLive && state.data?.turnId != null ? OPEN_POLL_MS : false),
  });
  const { data } = session;
  return (
    <>
      <div className="row">
        <h1>
          <SafeText text={data?.label ?? key} />
        </h1>
        {data !== undefined && <Status status={data.why == null ? data.status : 'waiting'} />}
        {data !== undefined && who.role !== 'viewer' && <SessionActions session={data} />}
      </div>
      {session.isError && <Problem error={session.error} onRetry={() => void session.refetch()} />}
      {data !== undefined && (
        <>
          {data.why != null && (
            <p className="panel" role="status">
              <WhyText why={data.why} />
            </p>
          )}
          <SessionFacts session={data} />
          {who.role !== 'viewer' && <Composer session={data} />}
          {data.turnId !== null && <LiveReply turnId={data.turnId} key={data.turnId} />}
          <Waiting sessionKey={data.key} count={data.waitingMessages} />
          <SessionHistory sessionKey={data.key} />
          <Transcript session={data} />
        </>
      )}
    </>
  );
}

function SessionFacts({ session }: { session: Session }): ReactElement {
  return (
    <dl className="facts panel">
      <Fact name="Key">
        <span className="mono">
          <SafeText text={session.key} />
        </span>
      </Fact>
      <Fact name="Agent and kind">
        {session.agentId}, {session.kind}
      </Fact>
      <Fact name="Model">{session.model ?? 'as configured'}</Fact>
      <Fact name="Thinking">{session.thinking ?? 'as configured'}</Fact>
      <Fact name="Queue mode">{session.queueMode ?? 'as configured'}</Fact>
      <Fact name="Context">
        <ContextBar session={session} /> of {countText(session.contextWindow)} tokens
      </Fact>
      <Fact name="Cost">
        <Cost of={session} />
      </Fact>
      <Fact name="Waiting">
        {countText(session.waitingMessages)} messages, {countText(session.systemEvents)} system events
      </Fact>
      <Fact name="Active">
        <Age at={session.updatedAt} />
      </Fact>
      <TagsFact tags={session.tags} />
      {session.parentKey !== null && (
        <Fact name="Parent">
          <Link to="/sessions/$key" params={{ key: session.parentKey }}>
            <SafeText text={session.parentKey} />
          </Link>
        </Fact>
      )}
      <Fact name="Subagents">
        <Link to="/sessions/$key/family" params={{ key: session.key }}>
          the family
        </Link>
      </Fact>
      <Fact name="Turns">
        <Link to="/turns" search={{ session: session.key }}>
          all turns
        </Link>
        {session.turnId !== null && (
          <>
            {', '}
            <Link to="/turns/$id" params={{ id: session.turnId }}>
              the open one
            </Link>
          </>
        )}
      </Fact>
    </dl>
  );
}

/** The text of the reply while it is streamed. The stream resumes by its last id, so nothing is lost or shown twice. */
function LiveReply({ turnId }: { turnId: string }): ReactElement | null {
  const [text, setText] = useState('');
  const queries = useQueryClient();
  const { isLive } = useSettings();
  useEffect(() => {
    if (!isLive) return undefined;
    setText('');
    const stop = new AbortController();
    async function follow(): Promise<void> {
      for await (const event of api.turnEvents({ id: turnId, signal: stop.signal })) {
        if (event.type === 'model.started') setText('');
        if (event.type === 'model.delta') setText((before) => before + event.text);
        if (event.type === 'turn.ended') void queries.invalidateQueries({ queryKey: ['session'] });
      }
    }
    follow().catch(() => undefined);
    return () => stop.abort();
  }, [turnId, queries, isLive]);
  if (text === '') return null;
  return (
    <section className="entry" data-role="assistant" aria-live="polite" aria-label="The reply as it is written">
      <header>
        <Status status="running" /> being written
      </header>
      <LongText text={text} />
    </section>
  );
}

/** The queue of the session, which is read when it is opened. */
function Waiting({ sessionKey, count }: { sessionKey: string; count: number }): ReactElement | null {
  const [isOpen, setOpen] = useState(false);
  const list = useQuery({
    queryKey: ['waiting', 'session', sessionKey],
    queryFn: () => api.listWaiting({ session: sessionKey, limit: WAITING_SHOWN, textChars: WAITING_CHARS }),
    enabled: isOpen && count > 0,
  });
  if (count === 0) return null;
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{count === 1 ? '1 message waits' : `${countText(count)} messages wait`}</summary>
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.data === undefined && !list.isError && <Loading />}
      <ol className="items">
        {list.data?.items.map(({ id, text, why, receivedAt }) => (
          <li key={id}>
            <SafeText text={text} /> <WhyText why={why} />{' '}
            <span className="soft">
              since <Age at={receivedAt} />
            </span>
          </li>
        ))}
      </ol>
      <Link to="/waiting" search={{ session: sessionKey }}>
        all that wait in this session
      </Link>
    </details>
  );
}
