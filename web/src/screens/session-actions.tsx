// What can be done to a session: stop it, compact, reset or fork its transcript, add a system event, and override the configuration for it.
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Session } from '../api.ts';
import { Confirm } from '../parts/confirm.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { SessionOverrides } from './session-overrides.tsx';

const ACTIONS = ['Abort', 'Compact', 'Reset', 'Fork', 'Add event', 'Overrides'] as const;
const DESTRUCTIVE: ReadonlySet<string> = new Set(['Abort', 'Reset']);

interface QuestionProps {
  session: Session;
  onClose: () => void;
}

export function SessionActions({ session }: { session: Session }): ReactElement {
  const [asked, setAsked] = useState<(typeof ACTIONS)[number] | null>(null);
  const question = { session, onClose: () => setAsked(null) };
  return (
    <>
      {ACTIONS.map((action) => (
        <button
          key={action}
          type="button"
          className="button"
          data-tone={DESTRUCTIVE.has(action) ? 'bad' : undefined}
          onClick={() => setAsked(action)}
        >
          {action}…
        </button>
      ))}
      {asked === 'Abort' && <Abort {...question} />}
      {asked === 'Compact' && <Compact {...question} />}
      {asked === 'Reset' && <Reset {...question} />}
      {asked === 'Fork' && <Fork {...question} entry={null} />}
      {asked === 'Add event' && <AddEvent {...question} />}
      {asked === 'Overrides' && <SessionOverrides {...question} />}
    </>
  );
}

/** Has the screen read the session again. */
function useRefresh(): () => void {
  const queries = useQueryClient();
  return () => {
    for (const name of ['session', 'transcript']) void queries.invalidateQueries({ queryKey: [name] });
  };
}

function Abort({ session: { key, waitingMessages }, onClose }: QuestionProps): ReactElement {
  const refresh = useRefresh();
  const [keeps, setKeeps] = useState(false);
  return (
    <Confirm
      title="Abort the running turn?"
      verb="Abort"
      onClose={onClose}
      perform={async () => {
        await api.abortSession({ key, body: keeps ? { queued: 'keep' } : {} });
        refresh();
      }}
    >
      <p>Its turn is stopped, with all subagents below it.</p>
      <label className="row">
        <input type="checkbox" checked={keeps} onChange={(event) => setKeeps(event.target.checked)} />
        keep the messages that wait ({waitingMessages}); otherwise they are cancelled
      </label>
    </Confirm>
  );
}

function Compact({ session: { key }, onClose }: QuestionProps): ReactElement {
  const refresh = useRefresh();
  const [instructions, setInstructions] = useState('');
  return (
    <Confirm
      title="Compact the transcript?"
      verb="Compact"
      tone="main"
      onClose={onClose}
      perform={async () => {
        await api.compactSession({ key, body: instructions.trim() === '' ? {} : { instructions } });
        refresh();
      }}
    >
      <p>A summary replaces the older entries in what the model sees. A compaction can be restored.</p>
      <label className="field">
        What the summary must keep (optional)
        <textarea value={instructions} onChange={(event) => setInstructions(event.target.value)} />
      </label>
    </Confirm>
  );
}

function Reset({ session: { key, status }, onClose }: QuestionProps): ReactElement {
  const refresh = useRefresh();
  return (
    <Confirm
      title="Begin a new transcript?"
      verb="Reset"
      onClose={onClose}
      perform={async () => {
        await api.resetSession({ key, body: status === 'running' ? { abort: true } : {} });
        refresh();
      }}
    >
      <p>
        The session keeps its key. The old transcript is kept under “Earlier transcripts”, and the model no longer sees
        it.{status === 'running' && ' The turn that runs now is aborted first.'}
      </p>
    </Confirm>
  );
}

/** Copies the transcript into a session of its own: up to an entry, or all of it. */
export function Fork({
  session: { key },
  entry,
  onClose,
}: QuestionProps & { entry: { id: string; seq: number } | null }): ReactElement {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  return (
    <Confirm
      title={entry === null ? 'Fork this session' : `Fork from entry #${entry.seq}`}
      verb="Fork"
      tone="main"
      onClose={onClose}
      perform={async () => {
        const body = { key: name.trim(), ...(entry === null ? {} : { entryId: entry.id }) };
        const { session } = await api.forkSession({ key, body });
        void queries.invalidateQueries({ queryKey: ['session'] });
        await navigate({ to: '/sessions/$key', params: { key: session.key } });
      }}
    >
      <p>
        A new session receives a copy of the transcript of <SafeText text={key} />
        {entry === null ? '' : ` up to entry #${entry.seq}`}. This session does not change.
      </p>
      <label className="field">
        Key of the new session
        <input required value={name} onChange={(event) => setName(event.target.value)} />
      </label>
    </Confirm>
  );
}

function AddEvent({ session: { key }, onClose }: QuestionProps): ReactElement {
  const refresh = useRefresh();
  const [text, setText] = useState('');
  return (
    <Confirm
      title="Add a system event"
      verb="Add"
      tone="main"
      onClose={onClose}
      perform={async () => {
        await api.queueSystemEvent({ key, body: { text } });
        refresh();
      }}
    >
      <p>One line that the next prompt of this session contains. It does not begin a turn.</p>
      <label className="field">
        Text
        <input required value={text} onChange={(event) => setText(event.target.value)} />
      </label>
    </Confirm>
  );
}
