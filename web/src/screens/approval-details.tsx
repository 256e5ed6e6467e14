// One request for an approval: exactly what would run, who asks, and the decision.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Check } from 'lucide-react';
import { useRef, useState, type ReactElement } from 'react';
import { api, type Approval } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { serverNowMs } from '../format/time.ts';
import { useCanAct } from '../me.ts';
import { Age, Chip, Facts, Status, Time } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { KeyLink, TurnLink } from '../parts/links.tsx';
import { NoData } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { PanelHead } from '../parts/side-panel.tsx';
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
    <Link to="/approvals" search={{ open: id }}>
      <SafeText text={tool} /> {id.slice(-6)}
    </Link>
  );
}

/** A request and the way to decide it; it stays when it is read again and says who decided it. */
function useRequest(id: string, onDecided?: () => void) {
  const { isLive } = useSettings();
  const queries = useQueryClient();
  const request = useQuery({
    queryKey: ['approvals', 'one', id],
    queryFn: () => api.getApproval({ id }),
    refetchInterval: ({ state: { data } }) => isLive && data !== undefined && rereadApprovalsMs([data]),
  });
  const decided = useMutation({
    mutationFn: ({ verb, note }: { verb: Verb; note: string }) => {
      const body = note.trim() === '' ? {} : { note: note.trim() };
      return verb === 'approve' ? api.approveApproval({ id, body }) : api.denyApproval({ id, body });
    },
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: ['approvals'] });
      void queries.invalidateQueries({ queryKey: ['stats'] });
      void queries.invalidateQueries({ queryKey: ['waiting'] });
      onDecided?.();
    },
  });
  const decide = (verb: Verb, note: string): Promise<unknown> => decided.mutateAsync({ verb, note });
  return { request, decided, decide };
}

export function ApprovalDetails({ id, onClose }: { id: string; onClose: () => void }): ReactElement {
  const heading = useRef<HTMLHeadingElement>(null);
  const { request, decided, decide } = useRequest(id, () => heading.current?.focus());
  const { data } = request;
  return (
    <section className="approval" aria-labelledby={`approval-${id}`}>
      <PanelHead onClose={onClose}>
        <h2 id={`approval-${id}`} ref={heading} tabIndex={-1}>
          {data === undefined ? 'Request' : <SafeText text={data.tool} />} <span className="mono">{id.slice(-6)}</span>
        </h2>
        {data !== undefined && <ApprovalStatus status={data.status} />}
      </PanelHead>
      {data === undefined ? (
        <NoData query={request} />
      ) : (
        <>
          <Decision request={data} isBusy={decided.isPending} decide={decide} />
          {decided.isError && <Problem error={decided.error} />}
          <RequestFacts request={data} />
        </>
      )}
    </section>
  );
}

/** A request where its turn or its session is shown: what would run, until when, and the decision. */
export function ApprovalCard({ id }: { id: string }): ReactElement {
  const { request, decided, decide } = useRequest(id);
  const { data } = request;
  if (data === undefined) return <NoData query={request} />;
  return (
    <section className="approval card" aria-label={`Request ${id.slice(-6)}`}>
      <p className="row">
        <RequestLink request={data} />
        {data.status !== 'open' && <ApprovalStatus status={data.status} />}
        <span className="soft">
          <SafeText text={reasonsText(data)} />
          {data.status === 'open' && (
            <>
              ; is denied <Age at={data.expiresAt} />
            </>
          )}
        </span>
      </p>
      <Decision request={data} isBusy={decided.isPending} decide={decide} />
      {decided.isError && <Problem error={decided.error} />}
    </section>
  );
}

function RequestFacts({ request }: { request: Approval }): ReactElement {
  const { status, sessionKey, rootSessionKey, turnId, requestedAt, expiresAt, decidedAt, decidedBy, note } = request;
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
        'Why it waits': <SafeText text={reasonsText(request)} />,
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

const reasonsText = ({ reasons }: Approval): string => reasons.map((reason) => REASONS[reason] ?? reason).join('; ');

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
      <ShownCall text={isWhole ? shown : shown.slice(0, SHOWN_CHARS)} isWhole={isWhole} />
      {!isWhole && <Button onClick={() => setWhole(true)}>Show all of it ({left} characters more)</Button>}
      {canAct && status === 'open' && (
        <div className="row decide">
          <Button tone="main" disabled={isBusy} onClick={() => (isWhole ? send('approve') : setAsking(true))}>
            <Check size={15} />
            {isWhole ? 'Approve' : 'Approve…'}
          </Button>
          <Button tone="bad" disabled={isBusy} onClick={() => send('deny')}>
            Deny
          </Button>
          <label className="grow">
            <span className="hidden-visually">Note (the agent reads it when the call is denied)</span>
            <input
              className="note"
              placeholder="Note for the agent, if it is denied"
              value={note}
              maxLength={NOTE_CHARS_MAX}
              onChange={({ target }) => setNote(target.value)}
            />
          </label>
        </div>
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

/** The first line names the tool and its folder, the rest is the input as JSON. */
const CALL = /^(.*)\n(\{.*\})$/s;

/** Characters that JSON shows as their numbers, and a command would not. */
const CONTROL = /(?![\n\t])\p{Cc}/u;

/** The command of a call and its other arguments; null: it is no command, or not all of it is there. */
function commandOf(text: string): { head: string; command: string; others: string | null } | null {
  const [, head, json] = CALL.exec(text) ?? [];
  if (head === undefined || json === undefined) return null;
  try {
    const { command, ...others } = JSON.parse(json) as Record<string, unknown>;
    if (typeof command !== 'string' || CONTROL.test(command)) return null;
    return { head, command, others: Object.keys(others).length === 0 ? null : JSON.stringify(others, null, 2) };
  } catch {
    return null;
  }
}

/**
 * A call, a command as one. It stands in the order in which it is stored: no letter of another
 * script changes how the others are shown.
 */
function ShownCall({ text, isWhole }: { text: string; isWhole: boolean }): ReactElement {
  const call = isWhole ? commandOf(text) : null;
  if (call === null) return <Shown text={text} />;
  return (
    <>
      <p className="soft">
        <SafeText text={call.head} />
      </p>
      <Shown text={call.command} isCommand />
      {call.others !== null && <Shown text={call.others} />}
    </>
  );
}

function Shown({ text, isCommand }: { text: string; isCommand?: true }): ReactElement {
  return (
    <pre className="shown-call" data-command={isCommand} dir="ltr" tabIndex={0}>
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
