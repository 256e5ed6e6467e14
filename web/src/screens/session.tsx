// One session: its conversation with the field for the next message, and beside it its facts, its
// actions and its history.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState, useSyncExternalStore, type ReactElement, type ReactNode } from 'react';
import { api, type Session } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { Age, Cost, Facts, Status } from '../parts/bits.tsx';
import { ContextBar } from '../parts/context-bar.tsx';
import { KeyLink, SessionName } from '../parts/links.tsx';
import { Fault, Loading } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Tags } from '../parts/tags.tsx';
import { WhyText } from '../parts/why-text.tsx';
import { useCanAct } from '../me.ts';
import { useSettings } from '../settings.tsx';
import { Composer } from './composer.tsx';
import { SessionActions } from './session-actions.tsx';
import { SessionCanvas } from './session-canvas.tsx';
import { SessionHistory } from './session-history.tsx';
import { Transcript } from './transcript.tsx';
import { WaitBanner } from './wait-banner.tsx';

const route = getRouteApi('/app/sessions/$key');
/** Of the queue: this many messages, and this much of each. */
const WAITING_SHOWN = 10;
const WAITING_CHARS = 200;
/** How often a session with an open turn is read again, in milliseconds. */
const OPEN_POLL_MS = 5_000;

export function SessionScreen(): ReactElement {
  const { key } = route.useParams();
  const canAct = useCanAct();
  const { isLive } = useSettings();
  const session = useQuery({
    queryKey: ['session', key],
    queryFn: () => api.getSession({ key }),
    // That its worker is lost is no event.
    refetchInterval: ({ state }) => (isLive && state.data?.turnId != null ? OPEN_POLL_MS : false),
  });
  const { data } = session;
  const isViewer = !canAct;
  return (
    <div className="session">
      <div className="session-words">
        <div className="row">
          <h1>
            <SessionName session={data} sessionKey={key} />
          </h1>
          {data !== undefined && <Status status={data.why == null ? data.status : 'waiting'} />}
          {data !== undefined && !isViewer && (
            <span className="end">
              <SessionActions session={data} />
            </span>
          )}
        </div>
        <Fault query={session} />
        {data !== undefined && (
          <>
            {data.why != null && <WaitBanner why={data.why} />}
            <Transcript session={data} />
            <Waiting sessionKey={data.key} count={data.waitingMessages} />
            {!isViewer && <Composer session={data} />}
          </>
        )}
      </div>
      {data !== undefined && (
        <Aside>
          <SessionCanvas sessionKey={data.key} />
          <SessionFacts session={data} />
          <SessionHistory sessionKey={data.key} />
        </Aside>
      )}
    </div>
  );
}

const wide = matchMedia('(min-width: 1000px)');

/** Beside the conversation where there is room for it; elsewhere folded above it. */
function Aside({ children }: { children: ReactNode }): ReactElement {
  const isWide = useSyncExternalStore(
    (listener) => {
      wide.addEventListener('change', listener);
      return () => wide.removeEventListener('change', listener);
    },
    () => wide.matches,
  );
  const { beside } = route.useSearch();
  if (isWide) return <aside className="session-beside">{children}</aside>;
  return (
    <details className="session-beside" open={beside !== undefined}>
      <summary>Facts, actions and history</summary>
      {children}
    </details>
  );
}

function SessionFacts({ session }: { session: Session }): ReactElement {
  return (
    <Facts
      className="panel"
      facts={{
        Key: (
          <span className="mono">
            <SafeText text={session.key} />
          </span>
        ),
        'Agent and kind': `${session.agentId}, ${session.kind}`,
        Model: session.model ?? 'as configured',
        Thinking: session.thinking ?? 'as configured',
        'Queue mode': session.queueMode ?? 'as configured',
        Context: (
          <>
            <ContextBar session={session} /> of {countText(session.contextWindow)} tokens
          </>
        ),
        Cost: <Cost of={session} />,
        Waiting: `${countText(session.waitingMessages)} messages, ${countText(session.systemEvents)} system events`,
        Active: <Age at={session.updatedAt} />,
        Tags: Object.keys(session.tags).length > 0 && <Tags tags={session.tags} />,
        Confined:
          session.isConfined && 'A key for a part of the service has sent something: its agent reaches nothing else',
        Parent: session.parentKey !== null && <KeyLink sessionKey={session.parentKey} />,
        Subagents: (
          <Link to="/sessions/$key/family" params={{ key: session.key }}>
            the family
          </Link>
        ),
        Turns: (
          <>
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
          </>
        ),
      }}
    />
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
      <Fault query={list} />
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
