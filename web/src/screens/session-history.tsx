// What a session keeps beside its transcript: system events, compactions and the transcripts before
// resets. Each list is read when it is opened.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type ReactElement, type ReactNode } from 'react';
import { api } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { useCanAct } from '../me.ts';
import { Age, Status } from '../parts/bits.tsx';
import { ConfirmButton } from '../parts/dialog-button.tsx';
import { TurnLink } from '../parts/links.tsx';
import { Fault, Loading } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useRefresh } from './session-questions.tsx';

type Compaction = Awaited<ReturnType<typeof api.listCompactions>>['items'][number];

const route = getRouteApi('/app/sessions/$key');
const SHOWN = 50;

export function SessionHistory({ sessionKey }: { sessionKey: string }): ReactElement {
  const key = sessionKey;
  return (
    <section aria-label="Beside the transcript">
      <OnDemand
        title="System events"
        name="events"
        sessionKey={key}
        read={() => api.listSystemEvents({ key, state: 'all', limit: SHOWN })}
        empty="No system event was added."
      >
        {(event) => (
          <li key={event.id}>
            <Status status={event.state} /> <SafeText text={event.text} />{' '}
            <span className="soft">
              {!event.trusted && 'untrusted, '}
              <Age at={event.createdAt} />
              {event.dropReason !== null && `, dropped: ${event.dropReason}`}
            </span>{' '}
            {event.turnId !== null && <TurnLink id={event.turnId} />}
          </li>
        )}
      </OnDemand>
      <OnDemand
        title="Compactions"
        name="compactions"
        sessionKey={key}
        read={() => api.listCompactions({ key, limit: SHOWN })}
        empty="The transcript was not compacted."
      >
        {(compaction) => <CompactionRow key={compaction.id} compaction={compaction} />}
      </OnDemand>
      <OnDemand
        title="Earlier transcripts"
        name="transcripts"
        sessionKey={key}
        read={() => api.listTranscripts({ key, limit: SHOWN })}
        empty="There are none."
      >
        {({ transcriptNo, isCurrent, entries, endedAt }) => (
          <li key={transcriptNo}>
            <Link
              to="/sessions/$key"
              params={{ key }}
              search={isCurrent ? {} : { transcript: String(transcriptNo), state: 'all' }}
            >
              transcript {transcriptNo}
            </Link>{' '}
            <span className="soft">
              {countText(entries)} entries, {endedAt === null ? 'the current one' : <Ended at={endedAt} />}
            </span>
          </li>
        )}
      </OnDemand>
    </section>
  );
}

function Ended({ at }: { at: string }): ReactElement {
  return (
    <>
      ended <Age at={at} />
    </>
  );
}

/** A list that is read when it is opened. */
function OnDemand<Item>(props: {
  title: string;
  /** Names it in the URL when it is open. */
  name: string;
  sessionKey: string;
  read: () => Promise<{ items: Item[]; nextCursor: string | null }>;
  empty: string;
  children: (item: Item) => ReactNode;
}): ReactElement {
  const { title, name, sessionKey, read, empty, children } = props;
  const { beside } = route.useSearch();
  const navigate = useNavigate({ from: '/sessions/$key' });
  const isOpen = beside === name;
  const list = useQuery({ queryKey: ['session', sessionKey, name], queryFn: read, enabled: isOpen });
  return (
    <details open={isOpen}>
      <summary
        onClick={(event) => {
          event.preventDefault();
          void navigate({
            search: ({ beside: _beside, ...before }) => (isOpen ? before : { ...before, beside: name }),
            replace: true,
          });
        }}
      >
        {title}
      </summary>
      <Fault query={list} />
      {list.data === undefined && !list.isError && <Loading />}
      {list.data?.items.length === 0 && <p className="soft">{empty}</p>}
      <ul className="items">{list.data?.items.map(children)}</ul>
      {list.data?.nextCursor != null && <p className="soft">The newest {SHOWN} are shown.</p>}
    </details>
  );
}

function CompactionRow({ compaction }: { compaction: Compaction }): ReactElement {
  const canAct = useCanAct();
  const refresh = useRefresh();
  const { id, sessionKey, status, reason, tokensBefore, tokensAfter, retiredEntries, error, startedAt } = compaction;
  return (
    <li>
      <Status status={status} /> {reason}, {countText(tokensBefore)} tokens
      {tokensAfter !== null && ` to ${countText(tokensAfter)}`}, {countText(retiredEntries)} entries replaced,{' '}
      <Age at={startedAt} /> <TurnLink id={compaction.turnId} /> {error !== null && <SafeText text={error.message} />}
      {compaction.isRestorable && canAct && (
        <ConfirmButton
          name="Restore…"
          title="Undo this compaction?"
          verb="Restore"
          perform={() => api.restoreCompaction({ key: sessionKey, id }).then(refresh)}
        >
          <p>
            The model sees {countText(retiredEntries)} entries again in place of the summary. Newer entries stay, and
            later compactions are undone with it.
          </p>
        </ConfirmButton>
      )}
    </li>
  );
}
