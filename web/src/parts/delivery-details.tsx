// One delivery: its address, its attempts, its payload, and the actions on it.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { Button } from './button.tsx';
import { Fault } from './loading.tsx';
import { api, type Delivery } from '../api.ts';
import { useCanAct } from '../me.ts';
import { Age, Fact, Heads, Status, Time } from './bits.tsx';
import { Confirm } from './confirm.tsx';
import { PanelHead } from './side-panel.tsx';
import { useActions } from './use-actions.tsx';
import { LongText, SafeText } from './safe-text.tsx';
import { KeyLink, TurnLink } from './links.tsx';

const REDRIVABLE: ReadonlySet<string> = new Set(['failed', 'expired', 'unknown', 'discarded']);
const DISCARDABLE: ReadonlySet<string> = new Set(['pending', 'failed', 'expired', 'unknown']);

const placeOf = ({ conversation }: Delivery) => (conversation === null ? 'webhook' : 'chat');

const REDRIVE_TEXTS = {
  chat: 'It has as many attempts as a new one. If the chat has the message already, it is there twice.',
  webhook: 'It has as many attempts as a new one, under the same id: the receiver can tell that it has it already.',
} as const;

/** The details of an opened delivery; `onClose` is absent where it stays open. */
export function DeliveryDetails({ id, onClose }: { id: string; onClose?: () => void }): ReactElement {
  const found = useQuery({ queryKey: ['deliveries', 'one', id], queryFn: () => api.getDelivery({ id }) });
  const { data } = found;
  const heading = `delivery-${id}`;
  const head = (
    <>
      <h2 id={heading}>
        Delivery <span className="mono">{id.slice(-6)}</span>
      </h2>
      {data !== undefined && <Status status={data.status} />}
      {data !== undefined && <Decisions delivery={data} />}
    </>
  );
  return (
    <section className={onClose === undefined ? 'panel' : 'approval'} aria-labelledby={heading}>
      {onClose === undefined ? <div className="row">{head}</div> : <PanelHead onClose={onClose}>{head}</PanelHead>}
      <Fault query={found} />
      {data !== undefined && (
        <>
          {data.status === 'unknown' && (
            <p>
              Its process ended while it was sent, and the platform cannot say whether it has arrived. Look into the
              chat: redrive it if the message is not there, or else discard it.
            </p>
          )}
          <Facts delivery={data} />
          <Attempts log={data.log} />
          <h3>What is sent</h3>
          <LongText text={JSON.stringify(data.payload, null, 2)} />
        </>
      )}
    </section>
  );
}

function Facts({ delivery }: { delivery: Delivery }): ReactElement {
  return (
    <dl className="facts">
      <Fact name="Channel">
        <SafeText text={delivery.channel} />
      </Fact>
      <Fact name={delivery.conversation === null ? 'Goes to' : 'Conversation'}>
        <SafeText text={delivery.conversation ?? delivery.target?.url ?? 'a webhook'} />
      </Fact>
      {delivery.parts > 1 && (
        <Fact name="Part">
          {delivery.part} of {delivery.parts}
        </Fact>
      )}
      {delivery.platformId !== null && (
        <Fact name="Id on the platform">
          <SafeText text={delivery.platformId} />
        </Fact>
      )}
      <Fact name="Session">
        <KeyLink sessionKey={delivery.sessionKey} />
      </Fact>
      <Fact name="Turn">{delivery.turnId === null ? 'none' : <TurnLink id={delivery.turnId} />}</Fact>
      <Fact name="Created">
        <Age at={delivery.createdAt} />
      </Fact>
      <Fact name={delivery.settledAt === null ? 'Next attempt' : 'Ended'}>
        <Age at={delivery.settledAt ?? delivery.dueAt} />
      </Fact>
      <Fact name="Last answer">
        {delivery.lastStatus ?? 'none'} {delivery.lastError !== null && <SafeText text={delivery.lastError} />}
      </Fact>
      <Fact name="Id">
        <span className="mono">{delivery.id}</span>
      </Fact>
    </dl>
  );
}

type Log = Awaited<ReturnType<typeof api.getDelivery>>['log'];

function Attempts({ log }: { log: Log }): ReactElement {
  if (log.length === 0)
    return <p className="soft">No attempt is known: it was not tried yet, or its events are gone.</p>;
  return (
    <div className="scroll-x">
      <table className="plain">
        <caption>Attempts</caption>
        <Heads of={['Attempt', 'When', 'Then', 'HTTP status']} />
        <tbody>
          {log.map(({ attempt, at, status, httpStatus }, n) => (
            <tr key={n}>
              <td>{attempt}</td>
              <td>
                <Time at={at} />
              </td>
              <td>
                <Status status={status} />
              </td>
              <td>{httpStatus ?? 'no answer'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface DecisionsProps {
  delivery: Delivery;
  /** Absent: it can also be discarded. */
  verb?: 'redrive';
}

/** What can be decided about a delivery. */
export function Decisions({ delivery, verb }: DecisionsProps): ReactElement | null {
  const canAct = useCanAct();
  const queries = useQueryClient();
  const [asked, setAsked] = useState<'redrive' | 'discard' | null>(null);
  const { act, isBusy, problem } = useActions('deliveries');
  if (!canAct) return null;
  const { id, status } = delivery;
  return (
    <>
      {verb === undefined && status === 'pending' && (
        <Button tone="main" disabled={isBusy} onClick={() => act(() => api.sendDelivery({ id }))}>
          Send now
        </Button>
      )}
      {REDRIVABLE.has(status) && (
        <Button tone="main" onClick={() => setAsked('redrive')}>
          {verb === undefined ? 'Redrive…' : 'Redrive the delivery…'}
        </Button>
      )}
      {verb === undefined && DISCARDABLE.has(status) && (
        <Button tone="bad" onClick={() => setAsked('discard')}>
          Discard…
        </Button>
      )}
      {problem}
      {asked !== null && (
        <Confirm
          title={asked === 'redrive' ? 'Send this delivery again?' : 'Discard this delivery?'}
          verb={asked === 'redrive' ? 'Redrive the delivery' : 'Discard the delivery'}
          asksReason={asked === 'discard'}
          onClose={() => setAsked(null)}
          perform={async (reason) => {
            await (asked === 'redrive'
              ? api.redriveDelivery({ id })
              : api.discardDelivery({ id, body: reason === undefined ? {} : { reason } }));
            void queries.invalidateQueries({ queryKey: ['deliveries'] });
          }}
        >
          <p>
            {asked === 'redrive'
              ? REDRIVE_TEXTS[placeOf(delivery)]
              : 'It is not sent any more. Later deliveries of its session are sent without it.'}
          </p>
        </Confirm>
      )}
    </>
  );
}
