// A session where room is short: its title, or else its key without the beginning that all keys of
// an agent share, cut in the middle. The whole key is read aloud, and shown under the pointer.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { SafeText } from './safe-text.tsx';

const SHARED = /^agent:[^:]+:(?=.)/;
/** The end by which keys differ. */
const LAST = /.{1,10}$/su;

interface SessionLinkProps {
  sessionKey: string;
  /** Absent: not known. That of a session without any name is the end of its key. */
  title?: string | null | undefined;
}

export function SessionLink({ sessionKey, title }: SessionLinkProps): ReactElement {
  const shared = SHARED.exec(sessionKey)?.[0] ?? '';
  const own = sessionKey.slice(shared.length);
  const [tail = ''] = LAST.exec(own) ?? [];
  if (title != null && !sessionKey.endsWith(title))
    return (
      <Link to="/sessions/$key" params={{ key: sessionKey }} title={sessionKey} className="row-words">
        <SafeText text={title} />
        <span className="hidden-visually"> {sessionKey}</span>
      </Link>
    );
  return (
    <Link
      to="/sessions/$key"
      params={{ key: sessionKey }}
      title={sessionKey}
      // The name of its parts would have spaces between them.
      aria-label={sessionKey}
      className="short-key"
    >
      <span className="hidden-visually">{shared}</span>
      <span>
        <SafeText text={own.slice(0, own.length - tail.length)} />
      </span>
      <span>
        <SafeText text={tail} />
      </span>
    </Link>
  );
}

/** The beginning of what was said, on at most two lines. */
export function Words({ text }: { text: string | null | undefined }): ReactElement | null {
  if (text == null || text === '') return null;
  return (
    <span className="row-words" title={text}>
      <SafeText text={text} />
    </span>
  );
}

/** Who wrote, and where. */
export function From({ of: { person, channel } }: { of: { person: string | null; channel: string | null } }) {
  const text = [person, channel].filter((part) => part !== null).join(' · ');
  return <Words text={text} />;
}
