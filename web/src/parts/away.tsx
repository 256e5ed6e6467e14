// What is away, since when, and what still works: for a page that is open, one that is loaded
// during an outage, and the sign-in.
import type { ReactElement } from 'react';
import { HoldfastError, type Readiness } from '../api.ts';
import { Time } from './bits.tsx';
import { SafeText } from './safe-text.tsx';

/** By the name of the dependency. */
const PARTS: Readonly<Record<string, { noun: string; works: string }>> = {
  database: {
    noun: 'The database',
    works:
      'New messages are refused with 503, and their senders have to send them again. Nothing that was accepted is lost: running turns wait, and continue when it is back.',
  },
  layout: {
    noun: 'The schema of the database',
    works: 'Run "npx holdfast migrate". Until then, new messages are refused.',
  },
  storage: {
    noun: 'Space on the disk of the database',
    works: 'New messages are refused with 503. What was accepted is kept, and continues when there is space again.',
  },
  queue: {
    noun: 'The queue',
    works: 'Messages are accepted and answered: workers look for them in the database until it is back.',
  },
  reconciler: {
    noun: 'The reconciler of this process',
    works: 'Messages are accepted. Other workers and schedulers do its work.',
  },
};

type Dependency = Readiness['dependencies'][number];

/**
 * What the service says of itself: as the answer of the query, or in the error with which it says
 * that it cannot work.
 */
export function awayParts(ready: Readiness | undefined, error: unknown): Dependency[] {
  const refused = error instanceof HoldfastError ? (error.problem as Partial<Readiness> | null) : null;
  const { dependencies = [] } = (error === null ? ready : refused) ?? {};
  const failed = dependencies.filter(({ status }) => status === 'failed');
  // Whatever is in the database is away with it.
  const database = failed.filter(({ name }) => name === 'database');
  return database.length > 0 ? database : failed;
}

/** One sentence for each part that is away, or that the service cannot be reached. */
export function Away({ ready, error }: { ready: Readiness | undefined; error: unknown }): ReactElement {
  const parts = awayParts(ready, error);
  const isSilent = error instanceof HoldfastError && error.status === null;
  return (
    <>
      {parts.map(({ name, failedSince, error: code }) => (
        <span key={name}>
          <strong>
            {PARTS[name]?.noun ?? <SafeText text={name} />} is away
            {failedSince !== null && (
              <>
                {' '}
                since <Time at={failedSince} />
              </>
            )}
          </strong>{' '}
          (<span className="mono">{code}</span>). {PARTS[name]?.works}{' '}
        </span>
      ))}
      {parts.length === 0 && (isSilent ? 'The service cannot be reached.' : 'The service has not answered yet.')} The
      page tries again by itself.
    </>
  );
}
