// A turn beside a list: what came in, the answer, and its steps; its own screen has the rest.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { Age, Cost, Facts } from '../parts/bits.tsx';
import { Decisions } from '../parts/delivery-details.tsx';
import { NoData } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { PanelHead } from '../parts/side-panel.tsx';
import { TurnStatus } from '../parts/turn-status.tsx';
import { TurnActions } from './turn-actions.tsx';
import { Steps } from './turn-steps.tsx';
import { TurnWords, useDeadDelivery } from './turn-words.tsx';
import type { Turn } from '../api.ts';

export function TurnPanel({ id, onClose }: { id: string; onClose: () => void }): ReactElement {
  const turn = useQuery({ queryKey: ['turn', id], queryFn: () => api.getTurn({ id }) });
  const { data } = turn;
  return (
    <section className="approval" aria-labelledby="opened">
      <PanelHead onClose={onClose}>
        <h2 id="opened">
          <Link to="/turns/$id" params={{ id }}>
            Turn <span className="mono">{id.slice(-6)}</span>
          </Link>
        </h2>
        {data !== undefined && <TurnStatus turn={data} />}
      </PanelHead>
      {data === undefined ? <NoData query={turn} /> : <KnownTurn turn={data} />}
    </section>
  );
}

function KnownTurn({ turn }: { turn: Turn }): ReactElement {
  const delivery = useDeadDelivery(turn);
  return (
    <>
      <div className="row">
        <TurnActions turn={turn} />
        {delivery.data != null && <Decisions delivery={delivery.data} verb="redrive" />}
        <Link className="button" to="/turns/$id" params={{ id: turn.id }} search={{ tab: 'timeline' }}>
          Timeline
        </Link>
      </div>
      <TurnWords turn={turn} />
      <Facts
        facts={{
          Model: <SafeText text={turn.model} />,
          Cost: <Cost of={turn} />,
          Started: <Age at={turn.startedAt} />,
          Waited: durationText(lengthMs(turn.queuedAt, turn.firstClaimedAt)),
          Took: durationText(lengthMs(turn.startedAt, turn.endedAt)),
        }}
      />
      <Steps turn={turn} />
    </>
  );
}
