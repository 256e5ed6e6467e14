// What the agent shows beside the session: its own HTML, in a frame without any rights.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { Age } from '../parts/bits.tsx';
import { TurnLink } from '../parts/links.tsx';
import { Fault } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';

/** Nothing while the agent shows nothing. */
export function SessionCanvas({ sessionKey }: { sessionKey: string }): ReactElement | null {
  const canvas = useQuery({
    queryKey: ['session', sessionKey, 'canvas'],
    queryFn: () => api.getCanvas({ key: sessionKey, html: 'none' }),
  });
  if (canvas.isError) return <Fault query={canvas} />;
  if (canvas.data === undefined || canvas.data.updatedAt === null) return null;
  const { title, turnId, updatedAt } = canvas.data;
  const page = `/v1/sessions/${encodeURIComponent(sessionKey)}/canvas/page`;
  return (
    <Panel title="Canvas" className="canvas">
      <p className="soft">
        {title !== null && (
          <>
            <SafeText text={title} />,{' '}
          </>
        )}
        <Age at={updatedAt} />
        {turnId !== null && (
          <>
            {' by '}
            <TurnLink id={turnId} />
          </>
        )}
        . Written by the agent;{' '}
        <a href={page} target="_blank" rel="noreferrer">
          open it alone
        </a>
      </p>
      {/* Without a token: no scripts, an origin of its own, and no navigation of this page. */}
      <iframe key={updatedAt} sandbox="" title="Canvas of the agent" src={page} referrerPolicy="no-referrer" />
    </Panel>
  );
}
