// A session beside a list: its conversation with the field for the next message; its own screen has
// the rest.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { useCanAct } from '../me.ts';
import { Status } from '../parts/bits.tsx';
import { SessionName } from '../parts/links.tsx';
import { NoData } from '../parts/loading.tsx';
import { PanelHead } from '../parts/side-panel.tsx';
import { Composer } from './composer.tsx';
import { Transcript } from './transcript.tsx';
import { WaitBanner } from './wait-banner.tsx';

export function SessionPanel({ sessionKey, onClose }: { sessionKey: string; onClose: () => void }): ReactElement {
  const session = useQuery({ queryKey: ['session', sessionKey], queryFn: () => api.getSession({ key: sessionKey }) });
  const canAct = useCanAct();
  const { data } = session;
  return (
    <section className="session-words" aria-labelledby="opened">
      <PanelHead onClose={onClose}>
        <h2 id="opened">
          <Link to="/sessions/$key" params={{ key: sessionKey }}>
            <SessionName session={data} sessionKey={sessionKey} />
          </Link>
        </h2>
        {data !== undefined && <Status status={data.why == null ? data.status : 'waiting'} />}
      </PanelHead>
      {data === undefined ? (
        <NoData query={session} />
      ) : (
        <>
          {data.why != null && <WaitBanner why={data.why} />}
          <Transcript session={data} />
          {canAct && <Composer session={data} />}
        </>
      )}
    </section>
  );
}
