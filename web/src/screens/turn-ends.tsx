// The consequences of a turn: its deliveries, and, for a run of a subagent, how its end was
// announced.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api, type Turn } from '../api.ts';
import { Age, Empty, Fact, Status } from '../parts/bits.tsx';
import { DeliveryDetails } from '../parts/delivery-details.tsx';
import { KeyLink, TurnLink } from '../parts/links.tsx';
import { NoData } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { LongText, SafeText } from '../parts/safe-text.tsx';

/** More than any turn sends. */
const DELIVERIES_SHOWN = 50;
/** A run ends with its turn; the two times are of one statement, or a second apart. */
const SAME_END_MS = 1_000;

export function TurnDeliveries({ turn }: { turn: Turn }): ReactElement {
  const list = useQuery({
    queryKey: ['deliveries', 'turn', turn.id],
    queryFn: () => api.listDeliveries({ turn: turn.id, limit: DELIVERIES_SHOWN }),
  });
  if (list.isError || list.data === undefined) return <NoData query={list} />;
  if (list.data.items.length === 0) {
    return (
      <Empty>
        Nothing was sent: the message named no <code>deliver.url</code>, or the turn has not ended.
      </Empty>
    );
  }
  return (
    <>
      {list.data.items.toReversed().map(({ id }) => (
        <DeliveryDetails key={id} id={id} />
      ))}
    </>
  );
}

export function TurnAnnouncement({ turn }: { turn: Turn }): ReactElement {
  const found = useQuery({ queryKey: ['turn', 'announcement', turn.id], queryFn: () => announcementOf(turn) });
  if (found.isError || found.data === undefined) return <NoData query={found} />;
  if (found.data === null) {
    return <Empty>There is none: only the end of a subagent is announced, to the session that spawned it.</Empty>;
  }
  const { run, message } = found.data;
  return (
    <Panel
      title="Announcement"
      buttons={
        <>
          <Status status={run.status} />
          {message !== null && <Status status={message.status} />}
        </>
      }
    >
      <dl className="facts">
        <Fact name="Task">
          <SafeText text={run.label ?? run.task} />
        </Fact>
        <Fact name="Run ended">
          <Age at={run.endedAt} />
        </Fact>
        <Fact name="Announced to">
          {message === null ? 'no session: none was left to receive it' : <KeyLink sessionKey={message.sessionKey} />}
        </Fact>
        <Fact name="Taken up by">{message?.turnId == null ? 'no turn yet' : <TurnLink id={message.turnId} />}</Fact>
      </dl>
      {message !== null && (
        <>
          <h3>What was sent</h3>
          <LongText text={message.text} />
        </>
      )}
    </Panel>
  );
}

/** The run that ended with a turn, and the message of its announcement; null: no run did. */
async function announcementOf(turn: Turn) {
  const { items } = await api.getFamily({ key: turn.sessionKey });
  const listed = items.find(
    ({ sessionKey, endedAt }) =>
      sessionKey === turn.sessionKey && endedAt !== null && endsWith(turn, Date.parse(endedAt)),
  );
  if (listed === undefined) return null;
  const run = await api.getSubagent({ runId: listed.runId });
  const { announcement } = run;
  return { run, message: announcement === null ? null : await api.getMessage({ id: announcement.messageId }) };
}

function endsWith({ startedAt, endedAt }: Turn, runEndMs: number): boolean {
  if (endedAt === null) return false;
  return runEndMs >= Date.parse(startedAt) && runEndMs <= Date.parse(endedAt) + SAME_END_MS;
}
