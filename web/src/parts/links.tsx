// Links to a turn, a session and an agent, by what a person knows them by.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
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

/** The whole key; lists have `SessionLink`. */
export function KeyLink({ sessionKey }: { sessionKey: string }): ReactElement {
  return (
    <Link to="/sessions/$key" params={{ key: sessionKey }}>
      <SafeText text={sessionKey} />
    </Link>
  );
}
