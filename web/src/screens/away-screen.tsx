// Stands in the place of every screen while the page cannot find out who has signed in: the
// database or the service is away.
import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, type ReactElement } from 'react';
import { isSignedOut } from '../api.ts';
import { readyQuery } from '../live/outage.ts';
import { me } from '../me.ts';
import { Away } from '../parts/away.tsx';

const POLL_MS = 1_000;

/** Shows what is away, and opens the screen of the address when the service answers again. */
export function AwayScreen(): ReactElement {
  const router = useRouter();
  const ready = useQuery({ ...readyQuery, refetchInterval: POLL_MS });
  const who = useQuery({ ...me, retry: false, refetchInterval: POLL_MS });
  const isBack = who.isSuccess || isSignedOut(who.error);
  useEffect(() => {
    if (isBack) void router.invalidate();
  }, [isBack, router]);
  return (
    <main className="sign-in">
      <div>
        <h1>Holdfast</h1>
        <p className="banner" data-tone="bad" role="status">
          <Away ready={ready.data} error={ready.error} />
        </p>
      </div>
    </main>
  );
}
