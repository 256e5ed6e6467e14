// One request for an approval: exactly what would run, who asks, and the decision.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useRef, useState, type ReactElement } from 'react';
import { api, type Approval } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { serverNowMs } from '../format/time.ts';
import { useCanAct } from '../me.ts';
import { Age, Chip, Facts, Status, Time } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { LongField } from '../parts/fields.tsx';
import { KeyLink, TurnLink } from '../parts/links.tsx';
import { NoData } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useSettings } from '../settings.tsx';

const NOTE_CHARS_MAX = 2_000;
/**
 * More than a person reads: the rest is shown when it is asked for, and an approval without it is
 * asked about.
 */
const SHOWN_CHARS = 65_536;

/**
 * How soon a list is read again after a request of it has expired, and how long it rests at least
 * and at most, in milliseconds.
 */
const AFTER_END_MS = 500;
const REREAD_MS_MIN = 1_000;
const REREAD_MS_MAX = 3_600_000;

/**
 * When requests have to be read again, because the time of one of them is over then: that is no
 * event.
 */
export function rereadApprovalsMs(requests: readonly Approval[]): number | false {
  const ends = requests.filter(({ status }) => status === 'open').map(({ expiresAt }) => Date.parse(expiresAt));
  if (ends.length === 0) return false;
  return Math.min(REREAD_MS_MAX, Math.max(REREAD_MS_MIN, Math.min(...ends) - serverNowMs() + AFTER_END_MS));
}

type Verb = 'approve' | 'deny';

/** The status; a request that is open has to be decided. */
export function ApprovalStatus({ status }: Pick<Approval, 'status'>): ReactElement {
  return status === 'open' ? <Chip tone="warn">open</Chip> : <Status status={status} />;
}

/** Opens a request, by its tool. */
export function RequestLink({ request: { id, tool } }: { request: Approval }): ReactElement {
  return (
    <Link to="/approvals" search={(before) => ({ ...before, open: id })}>
      <SafeText text={tool} /> {id.slice(-6)}
    </Link>
  );
}

export function ApprovalDetails({ id, onClose }: { id: string; onClose: () => void }): ReactElement {
  const { isLive } = useSettings();
  const queries = useQueryClient();
  const heading = useRef<HTMLHeadingElement>(null);
  const request = useQuery({
    queryKey: ['approvals', 'one', id],
    queryFn: () => api.getApproval({ id }),
    refetchInterval: ({ state: { data } }) => isLive && data !== undefined && rereadApprovalsMs([data]),
  });
  // It stays when the request is read again, which then says who decided it.
  const decided = useMutation({
    mutationFn: ({ verb, note }: { verb: Verb; note: string }) => {
      const body = note.trim() === '' ? {} : { note: note.trim() };
      return verb === 'approve' ? api.approveApproval({ id, body }) : api.denyApproval({ id, body });
    },
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: ['approvals'] });
      void queries.invalidateQueries({ queryKey: ['stats'] });
      heading.current?.focus();
    },
  });
  const { data } = request;
  return (
    <section className="panel approval" aria-labelledby={`approval-${id}`}>
      <div className="row">
        <h2 id={`approval-${id}`} ref={heading} tabIndex={-1}>
          {data === undefined ? 'Request' : <SafeText text={data.tool} />} <span className="mono">{id.slice(-6)}</span>
        </h2>
        {data !== undefined && <ApprovalStatus status={data.status} />}
        <Button onClick={onClose}>Close</Button>
      </div>
      {data === undefined ? <NoData query={request} /> : <RequestFacts request={data} />}
      {decided.isError && <Problem error={decided.error} />}
      {data !== undefined && (
        <Decision
          request={data}
          isBusy={decided.isPending}
          decide={(verb, note) => decided.mutateAsync({ verb, note })}
        />
      )}
    </section>
  );
}

function RequestFacts({ request }: { request: Approval }): ReactElement {
  const { status, sessionKey, rootSessionKey, turnId, reasons, requestedAt, expiresAt, decidedAt, decidedBy, note } =
    request;
  return (
    <Facts
      facts={{
        Agent: <SafeText text={agentOf(sessionKey)} />,
        Session: <KeyLink sessionKey={sessionKey} />,
        Family: rootSessionKey !== sessionKey && (
          <Link to="/sessions/$key/family" params={{ key: rootSessionKey }}>
            <SafeText text={rootSessionKey} />
          </Link>
        ),
        Turn: <TurnLink id={turnId} />,
        'Why it waits': <SafeText text={reasons.map((reason) => REASONS[reason] ?? reason).join('; ')} />,
        Asked: (
          <>
            <Time at={requestedAt} /> (<Age at={requestedAt} />)
          </>
        ),
        'Is denied': status === 'open' && (
          <>
            <Age at={expiresAt} />, <Time at={expiresAt} />
          </>
        ),
        [ENDS[status]]: decidedAt !== null && (
          <>
            <Age at={decidedAt} />
            {decidedBy !== null && (
              <>
                {' by '}
                <SafeText text={decidedBy} />
              </>
            )}
          </>
        ),
        Note: note !== null && <SafeText text={note} />,
      }}
    />
  );
}

/** The key of a session begins with its agent. */
const agentOf = (key: string): string => /^agent:([^:]+):/.exec(key)?.[1] ?? 'not known';

const REASONS: Readonly<Record<string, string>> = {
  rule: 'a rule asks for every such call',
  'outside-sandbox': 'it may run outside a sandbox',
  'outside-workspace': 'it may reach beyond the workspace',
  network: 'it may use the network',
  untrusted: 'the turn may have read words of others',
};

const ENDS: Readonly<Record<Approval['status'], string>> = {
  open: 'Ended',
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired, which denied it',
  cancelled: 'Cancelled, as its call does not wait any more',
};

interface DecisionProps {
  request: Approval;
  isBusy: boolean;
  decide: (verb: Verb, note: string) => Promise<unknown>;
}

/** What would run, whole, and below it the buttons: nothing is decided about what was not shown. */
function Decision({ request: { status, shown }, isBusy, decide }: DecisionProps): ReactElement {
  const canAct = useCanAct();
  const [isWhole, setWhole] = useState(shown.length <= SHOWN_CHARS);
  const [isAsking, setAsking] = useState(false);
  const [note, setNote] = useState('');
  const left = countText(shown.length - SHOWN_CHARS);
  const send = (verb: Verb): void => void decide(verb, note).catch(() => undefined);
  return (
    <>
      <h3>{status === 'open' ? 'What would run' : 'What was asked for'}</h3>
      <ShownCall text={isWhole ? shown : shown.slice(0, SHOWN_CHARS)} />
      {!isWhole && <Button onClick={() => setWhole(true)}>Show all of it ({left} characters more)</Button>}
      {canAct && status === 'open' && (
        <>
          <LongField
            name="Note (the agent reads it when the call is denied)"
            rows={2}
            value={note}
            maxLength={NOTE_CHARS_MAX}
            onChange={setNote}
          />
          <div className="row">
            <Button tone="main" disabled={isBusy} onClick={() => (isWhole ? send('approve') : setAsking(true))}>
              {isWhole ? 'Approve' : 'Approve…'}
            </Button>
            <Button tone="bad" disabled={isBusy} onClick={() => send('deny')}>
              Deny
            </Button>
          </div>
        </>
      )}
      {isAsking && (
        <Confirm
          title="Approve what is not shown?"
          verb="Approve all of it"
          onClose={() => setAsking(false)}
          perform={() => decide('approve', note)}
        >
          <p>{left} characters of the call are not shown yet. All of it would run.</p>
        </Confirm>
      )}
    </>
  );
}

/** Unseen characters as the service writes them. */
const NUMBERED = /(<U\+[\dA-F]{4,6}>)/;

/**
 * The text of a call, in the order in which it is stored: no letter of another script changes how
 * the others are shown.
 */
function ShownCall({ text }: { text: string }): ReactElement {
  return (
    <pre className="shown-call" dir="ltr" tabIndex={0}>
      {text.split(NUMBERED).map((part, at) =>
        at % 2 === 0 ? (
          part
        ) : (
          <span key={at} className="mark">
            {part}
          </span>
        ),
      )}
    </pre>
  );
}
