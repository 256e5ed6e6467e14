// What to do next in a new installation: each step with a button or a text to copy, and a tick when
// it is done. It is shown from the first visit of an installation with few sessions on, until all
// steps are done or it is hidden.
import { useMutation, useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement, type ReactNode } from 'react';
import { api } from '../api.ts';
import { destinationsQuery } from '../attention.ts';
import { readyQuery } from '../live/outage.ts';
import { me, useCanAct } from '../me.ts';
import { Chip } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { haveBegun, Loading } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { Problem } from '../parts/problem.tsx';

const STORED = 'holdfast.first-steps';
/** So many sessions come from following the README. */
const NEW_SESSIONS_MAX = 3;

const KEY_COMMAND = 'export ANTHROPIC_API_KEY=<your key>';
const AGENT_PIECE = `agents: {
  list: [
    { id: 'main' },
    { id: 'writer' },
  ],
},`;

/** Stands above its children, and is shown together with them: it would push them down later. */
export function FirstSteps({ children }: { children: ReactNode }): ReactNode {
  const stats = useQuery({ queryKey: ['stats'], queryFn: () => api.getStats() });
  const [stored, setStored] = useState(() => localStorage.getItem(STORED));
  const [isNew, setNew] = useState(stored === 'begun');
  if ((stats.data?.sessions ?? Infinity) <= NEW_SESSIONS_MAX && stored === null && !isNew) {
    setNew(true);
    localStorage.setItem(STORED, 'begun');
  }
  if (!haveBegun(stats)) return <Loading />;
  if (stats.data === undefined || stored === 'hidden' || !isNew) return children;
  function hide(): void {
    localStorage.setItem(STORED, 'hidden');
    setStored('hidden');
  }
  return (
    <Steps hasSessions={stats.data.sessions > 0} onHide={hide}>
      {children}
    </Steps>
  );
}

function Steps(props: { hasSessions: boolean; onHide: () => void; children: ReactNode }): ReactNode {
  const { hasSessions, onHide, children } = props;
  const { data: who } = useSuspenseQuery(me);
  const ready = useQuery(readyQuery);
  const agents = useQuery({ queryKey: ['agents'], queryFn: () => api.listAgents() });
  const crons = useQuery({ queryKey: ['crons', 'any'], queryFn: () => api.listCrons({ limit: 1 }) });
  const destinations = useQuery(destinationsQuery);
  const config = useQuery({ queryKey: ['config'], queryFn: () => api.getConfig(), enabled: who.role === 'admin' });
  if (!haveBegun(ready, agents, crons, destinations, ...(who.role === 'admin' ? [config] : []))) return <Loading />;
  if (
    ready.data === undefined ||
    agents.data === undefined ||
    crons.data === undefined ||
    destinations.data === undefined
  )
    return children;
  const done = {
    message: hasSessions,
    key: !ready.data.model.isScripted,
    agent: agents.data.items.length > 1,
    cron: crons.data.items.length > 0,
    alerts: destinations.data.items.length > 0,
  };
  return (
    <>
      <StepList done={done} file={config.data?.file ?? null} onHide={onHide} />
      {children}
    </>
  );
}

type Name = 'message' | 'key' | 'agent' | 'cron' | 'alerts';

function StepList(props: { done: Record<Name, boolean>; file: string | null; onHide: () => void }): ReactNode {
  const { done, file, onHide } = props;
  const canAct = useCanAct();
  const left = Object.values(done).filter((isDone) => !isDone).length;
  if (left === 0) return null;
  return (
    <Panel
      title="First steps"
      className="first-steps"
      buttons={
        <>
          <span className="soft">{left === 1 ? '1 is left' : `${left} are left`}</span>
          <Button onClick={onHide}>Hide the first steps</Button>
        </>
      }
    >
      <ol>
        <Step name="Send a message" isDone={done.message}>
          {!canAct ? <p className="soft">A key with the role operator can send one.</p> : <FirstMessage />}
        </Step>
        <Step name="Set the key of a provider" isDone={done.key}>
          <p className="soft">
            Until then the scripted model answers, for free. Set the variable where the service starts, then restart it.
          </p>
          <Copied text={KEY_COMMAND} name="Copy the command" />
        </Step>
        <Step name="Define an agent" isDone={done.agent}>
          <p className="soft">
            An agent has a model, tools and a workspace of its own. Put this into <code>{file ?? 'holdfast.json'}</code>
            ; <code>npx holdfast config validate</code> checks it.
          </p>
          <Copied text={AGENT_PIECE} name="Copy the settings" />
        </Step>
        <Step name="Add a cron" isDone={done.cron}>
          <p className="soft">A cron lets an agent run by the clock.</p>
          <Link className="button" to="/crons" search={{ new: 'yes' }}>
            Add a cron
          </Link>
        </Step>
        <Step name="Add an alert destination" isDone={done.alerts}>
          <p className="soft">A webhook is notified when something needs attention.</p>
          <Link className="button" to="/settings" search={{ tab: 'alerts' }}>
            Add a destination
          </Link>
        </Step>
      </ol>
    </Panel>
  );
}

function Step({ name, isDone, children }: { name: string; isDone: boolean; children: ReactNode }): ReactElement {
  return (
    <li data-done={isDone}>
      <h3>
        <Chip tone={isDone ? 'good' : undefined}>{isDone ? '✓ done' : 'to do'}</Chip> {name}
      </h3>
      {!isDone && children}
    </li>
  );
}

function Copied({ text, name }: { text: string; name: string }): ReactElement {
  return (
    <>
      <pre>{text}</pre>
      <CopyButton name={name} text={() => text} />
    </>
  );
}

const FIRST_SESSION = 'main';

/** Sends a message and goes to its session, where the answer arrives. */
function FirstMessage(): ReactElement {
  const navigate = useNavigate();
  const [text, setText] = useState('Hello! What can you do?');
  const send = useMutation({
    mutationFn: () => api.sendMessage({ key: FIRST_SESSION, body: { text } }),
    onSuccess: ({ message }) => navigate({ to: '/sessions/$key', params: { key: message.sessionKey } }),
  });
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        send.mutate();
      }}
    >
      <input aria-label="Message" required value={text} onChange={({ target }) => setText(target.value)} />
      <Button type="submit" tone="main" disabled={send.isPending}>
        Send
      </Button>
      {send.isError && <Problem error={send.error} />}
    </form>
  );
}
