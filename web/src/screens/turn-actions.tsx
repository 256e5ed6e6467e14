// What can be done to a turn: abort it, or retry it, also on another model or with another text.
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Turn } from '../api.ts';
import { me } from '../me.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Field, LongField } from '../parts/fields.tsx';

const RETRYABLE: ReadonlySet<string> = new Set(['failed', 'aborted', 'timedOut']);

const RETRY_TEXT = 'Its messages wait again. When the session has newer turns, they come as new messages.';
const QUESTIONS = {
  abort: {
    title: 'Abort this turn?',
    verb: 'Abort the turn',
    text: 'Its worker stops it within a second. Messages that wait in its session stay.',
  },
  retry: { title: 'Retry this turn?', verb: 'Retry the turn', text: RETRY_TEXT },
  otherModel: {
    title: 'Retry this turn on another model?',
    verb: 'Retry on this model',
    text: `${RETRY_TEXT} The session keeps the model until its overrides are changed.`,
  },
  otherText: {
    title: 'Retry this turn with another text?',
    verb: 'Retry with this text',
    text: 'One new message takes the place of its messages. Both name each other.',
  },
} as const;

interface TurnActionsProps {
  turn: Pick<Turn, 'id' | 'kind' | 'sessionKey' | 'status' | 'endedAt' | 'model'>;
}

export function TurnActions({ turn }: TurnActionsProps): ReactElement | null {
  const { data: who } = useSuspenseQuery(me);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<keyof typeof QUESTIONS | null>(null);
  const [model, setModel] = useState('');
  const [text, setText] = useState<string | null>(null);
  const before = useQuery({
    queryKey: ['turn', turn.id, 'inputs', turn.endedAt],
    queryFn: () => api.getTurnInputs({ id: turn.id }),
    enabled: asked === 'otherText',
    select: ({ messages }) => messages.map((message) => message.text).join('\n\n'),
  });
  const newText = text ?? before.data ?? '';
  if (who.role === 'viewer') return null;
  const verb = turn.endedAt === null ? 'abort' : RETRYABLE.has(turn.status) ? 'retry' : null;
  return (
    <>
      {verb !== null && (
        <Button tone={verb === 'abort' ? 'bad' : 'main'} onClick={() => setAsked(verb)}>
          {verb === 'abort' ? 'Abort…' : 'Retry…'}
        </Button>
      )}
      {verb === 'retry' && <Button onClick={() => setAsked('otherModel')}>Retry on another model…</Button>}
      {verb === 'retry' && turn.kind === 'message' && (
        <Button onClick={() => setAsked('otherText')}>Retry with another text…</Button>
      )}
      {asked !== null && (
        <Confirm
          title={QUESTIONS[asked].title}
          verb={QUESTIONS[asked].verb}
          {...(asked === 'abort' ? {} : { tone: 'main' as const })}
          onClose={() => setAsked(null)}
          perform={async () => {
            if (asked === 'abort') await api.abortTurn({ id: turn.id });
            else {
              if (asked === 'otherModel')
                await api.updateSession({ key: turn.sessionKey, body: { model: model.trim() } });
              await api.retryTurn({ id: turn.id, ...(asked === 'otherText' ? { body: { text: newText } } : {}) });
              await navigate({ to: '/sessions/$key', params: { key: turn.sessionKey } });
            }
            void queries.invalidateQueries();
          }}
        >
          <p>{QUESTIONS[asked].text}</p>
          {asked === 'otherModel' && (
            <Field name="Model" required value={model} placeholder={turn.model} onChange={setModel} />
          )}
          {asked === 'otherText' && <LongField name="Text" required rows={6} value={newText} onChange={setText} />}
        </Confirm>
      )}
    </>
  );
}
