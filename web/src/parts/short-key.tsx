// The key of a session where room is short: without the beginning that all keys of an agent share,
// and cut in the middle. The whole key is read aloud, and shown under the pointer.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { SafeText } from './safe-text.tsx';

const SHARED = /^agent:[^:]+:(?=.)/;
/** The end by which keys differ. */
const LAST = /.{1,10}$/su;

export function SessionLink({ sessionKey }: { sessionKey: string }): ReactElement {
  const shared = SHARED.exec(sessionKey)?.[0] ?? '';
  const own = sessionKey.slice(shared.length);
  const [tail = ''] = LAST.exec(own) ?? [];
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
