// What is asked before a session is aborted, compacted or reset: in its own screen and in the list
// of sessions.
import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Session } from '../api.ts';
import { namedCountText } from '../format/amounts.ts';
import { capitalised } from '../format/title.ts';
import { Confirm } from '../parts/confirm.tsx';
import { LongField } from '../parts/fields.tsx';
import { SafeText } from '../parts/safe-text.tsx';

export const SESSION_ACTIONS = ['Compact', 'Reset', 'Abort'] as const;
export type SessionAction = (typeof SESSION_ACTIONS)[number];

/** Those that cannot be undone. */
export const DESTRUCTIVE_ACTIONS: ReadonlySet<string> = new Set<SessionAction>(['Abort', 'Reset']);

export interface QuestionProps {
  session: Session;
  onClose: () => void;
}

export function SessionQuestion({ action, ...question }: QuestionProps & { action: SessionAction }): ReactElement {
  switch (action) {
    case 'Abort':
      return <Abort {...question} />;
    case 'Compact':
      return <Compact {...question} />;
    case 'Reset':
      return <Reset {...question} />;
    default:
      return action satisfies never;
  }
}

/** Has the screen read its sessions and their transcripts again. */
export function useRefresh(): () => void {
  const queries = useQueryClient();
  return () => {
    for (const name of ['session', 'transcript']) void queries.invalidateQueries({ queryKey: [name] });
  };
}

function Abort({ session: { key, turnId, waitingMessages }, onClose }: QuestionProps): ReactElement {
  const refresh = useRefresh();
  const [keeps, setKeeps] = useState(false);
  const parts = [
    ...(turnId === null ? [] : ['abort 1 turn']),
    ...(keeps || waitingMessages === 0 ? [] : [`cancel ${namedCountText(waitingMessages, 'message')}`]),
  ];
  return (
    <Confirm
      title={`${parts.length === 0 ? 'Stop the subagents' : capitalised(parts.join(' and '))}?`}
      verb="Abort"
      onClose={onClose}
      perform={async () => {
        await api.abortSession({ key, body: keeps ? { queued: 'keep' } : {} });
        refresh();
      }}
    >
      <p>
        In <SafeText text={key} />. All subagents below it are stopped, too.
      </p>
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
      <p>
        In <SafeText text={key} />, a summary replaces the older entries in what the model sees. A compaction can be
        restored.
      </p>
      <LongField name="What the summary must keep (optional)" value={instructions} onChange={setInstructions} />
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
        <SafeText text={key} /> keeps its key. The old transcript is kept under “Earlier transcripts”, and the model no
        longer sees it.{status === 'running' && ' The turn that runs now is aborted first.'}
      </p>
    </Confirm>
  );
}
