// What can be done to a session: stop it, compact, reset or fork its transcript, add a system
// event, and override the configuration for it.
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Session } from '../api.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Field } from '../parts/fields.tsx';
import { RowMenu } from '../parts/row-menu.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { SessionOverrides } from './session-overrides.tsx';
import {
  DESTRUCTIVE_ACTIONS,
  SESSION_ACTIONS,
  SessionQuestion,
  useRefresh,
  type QuestionProps,
} from './session-questions.tsx';

const ACTIONS = ['Fork', 'Add event', 'Overrides', ...SESSION_ACTIONS] as const;

export function SessionActions({ session }: { session: Session }): ReactElement {
  const [asked, setAsked] = useState<(typeof ACTIONS)[number] | null>(null);
  const question = { session, onClose: () => setAsked(null) };
  return (
    <>
      <RowMenu
        actions={ACTIONS.map((action) => ({
          name: `${action}…`,
          tone: DESTRUCTIVE_ACTIONS.has(action) ? 'bad' : undefined,
          onChoose: () => setAsked(action),
        }))}
      />
      {(asked === 'Abort' || asked === 'Compact' || asked === 'Reset') && (
        <SessionQuestion {...question} action={asked} />
      )}
      {asked === 'Fork' && <Fork {...question} entry={null} />}
      {asked === 'Add event' && <AddEvent {...question} />}
      {asked === 'Overrides' && <SessionOverrides {...question} />}
    </>
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
      <Field name="Key of the new session" required value={name} onChange={setName} />
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
      <Field name="Text" required value={text} onChange={setText} />
    </Confirm>
  );
}
