// Links to a turn, a session and an agent, by what a person knows them by.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Session } from '../api.ts';
import { SafeText } from './safe-text.tsx';

/** `turn 1a2b3c` */
export function TurnLink({ id }: { id: string }): ReactElement {
  return (
    <Link to="/turns/$id" params={{ id }}>
      turn {id.slice(-6)}
    </Link>
  );
}

export function AgentLink({ id }: { id: string }): ReactElement {
  return (
    <Link to="/agents/$id" params={{ id }}>
      {id}
    </Link>
  );
}

/** The title of a session as a heading, and its key beside it; before it is read, the key. */
export function SessionName({ session, sessionKey }: { session: Session | undefined; sessionKey: string }) {
  if (session === undefined) return <SafeText text={sessionKey} />;
  return (
    <>
      <SafeText text={session.title} />{' '}
      <small className="soft mono">
        <SafeText text={session.key} />
      </small>
    </>
  );
}

/** The whole key; lists have `SessionLink`. */
export function KeyLink({ sessionKey }: { sessionKey: string }): ReactElement {
  return (
    <Link to="/sessions/$key" params={{ key: sessionKey }}>
      <SafeText text={sessionKey} />
    </Link>
  );
}
