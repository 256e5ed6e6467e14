// What can be done to a turn: abort it, or retry it, also on another model.
import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Turn } from '../api.ts';
import { me } from '../me.ts';
import { Confirm } from '../parts/confirm.tsx';

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
} as const;

interface TurnActionsProps {
  turn: Pick<Turn, 'id' | 'sessionKey' | 'status' | 'endedAt' | 'model'>;
}

export function TurnActions({ turn }: TurnActionsProps): ReactElement | null {
  const { data: who } = useSuspenseQuery(me);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<keyof typeof QUESTIONS | null>(null);
  const [model, setModel] = useState('');
  if (who.role === 'viewer') return null;
  const verb = turn.endedAt === null ? 'abort' : RETRYABLE.has(turn.status) ? 'retry' : null;
  return (
    <>
      {verb !== null && (
        <button
          type="button"
          className="button"
          data-tone={verb === 'abort' ? 'bad' : 'main'}
          onClick={() => setAsked(verb)}
        >
          {verb === 'abort' ? 'Abort…' : 'Retry…'}
        </button>
      )}
      {verb === 'retry' && (
        <button type="button" className="button" onClick={() => setAsked('otherModel')}>
          Retry on another model…
        </button>
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
              await api.retryTurn({ id: turn.id });
              await navigate({ to: '/sessions/$key', params: { key: turn.sessionKey } });
            }
            void queries.invalidateQueries();
          }}
        >
          <p>{QUESTIONS[asked].text}</p>
          {asked === 'otherModel' && (
            <label className="field">
              Model
              <input
                required
                value={model}
                placeholder={turn.model}
                onChange={({ target }) => setModel(target.value)}
              />
            </label>
          )}
        </Confirm>
      )}
    </>
  );
}
