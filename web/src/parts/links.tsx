// Links to a turn and to a session, by what a person knows them by.
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

/** The whole key; lists have `SessionLink`. */
export function KeyLink({ sessionKey }: { sessionKey: string }): ReactElement {
  return (
    <Link to="/sessions/$key" params={{ key: sessionKey }}>
      <SafeText text={sessionKey} />
    </Link>
  );
}
