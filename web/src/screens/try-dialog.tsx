// Asks a turn again, or an agent, without any effect: with another text, model, thinking level or
// system prompt. Then it shows the result, beside the original if there is one.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Turn } from '../api.ts';
import { useCanAct } from '../me.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { DialogButton } from '../parts/dialog-button.tsx';
import { Field, LongField, Select, withUsual } from '../parts/fields.tsx';
import { Problem } from '../parts/problem.tsx';

const THINKING = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'adaptive'] as const;
const BEGINS_MS_MAX = 20_000;
const POLL_MS = 300;

type Changes = NonNullable<Parameters<typeof api.tryTurn>[0]['body']>;
type Asked = Awaited<ReturnType<typeof api.tryTurn>>['message'];

export function TryTurn({ turn }: { turn: Turn }): ReactElement | null {
  const canAct = useCanAct();
  const navigate = useNavigate();
  if (turn.kind === 'compaction' || turn.endedAt === null || !canAct) return null;
  return (
    <DialogButton
      dialog={(close) => (
        <TryDialog
          title={`Try turn ${turn.id.slice(-6)} again`}
          turn={turn}
          onClose={close}
          send={(body) => api.tryTurn({ id: turn.id, body })}
          show={(id) => navigate({ to: '/compare', search: { a: turn.id, b: id } })}
        />
      )}
    >
      Try…
    </DialogButton>
  );
}

export function TryAgent({ agentId }: { agentId: string }): ReactElement {
  const navigate = useNavigate();
  return (
    <DialogButton
      dialog={(close) => (
        <TryDialog
          title={`Try agent ${agentId}`}
          turn={null}
          onClose={close}
          send={({ text = '', ...body }) => api.tryAgent({ agent: agentId, body: { ...body, text } })}
          show={(id) => navigate({ to: '/turns/$id', params: { id } })}
        />
      )}
    >
      Try {agentId}…
    </DialogButton>
  );
}

interface TryDialogProps {
  title: string;
  turn: Turn | null;
  onClose: () => void;
  send: (changes: Changes) => Promise<{ message: Asked }>;
  /** Shows the turn that answers. */
  show: (turnId: string) => Promise<void>;
}

function TryDialog({ title, turn, onClose, send, show }: TryDialogProps): ReactElement {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [text, setText] = useState<string | null>(null);
  const [model, setModel] = useState('');
  const [thinking, setThinking] = useState('');
  const [systemPrompt, setSystemPrompt] = useState<SystemText | null>(null);
  const id = turn?.id ?? '';
  const inputs = useQuery({
    queryKey: ['turn', id, 'inputs', turn?.endedAt],
    queryFn: () => api.getTurnInputs({ id }),
    enabled: turn !== null,
  });
  const asked = inputs.data?.messages.map((message) => message.text).join('\n\n') ?? '';
  return (
    <Confirm
      title={title}
      verb="Try"
      tone="main"
      onClose={onClose}
      perform={async () => {
        const changed = {
          text: text === asked ? null : text,
          model: model.trim() || null,
          thinking: thinking || null,
          systemPrompt: systemPrompt?.text === systemPrompt?.before ? null : systemPrompt?.text,
        };
        const given = Object.entries(changed).filter(([, value]) => typeof value === 'string');
        // A level that the service does not take is not in the list.
        const { message } = await send(Object.fromEntries(given) as Changes);
        const turnId = await turnOf(message.id);
        void queries.invalidateQueries({ queryKey: ['turns'] });
        if (turnId !== null) return await show(turnId);
        return await navigate({ to: '/sessions/$key', params: { key: message.sessionKey } });
      }}
    >
      <p>
        It runs in a session of its own. Nothing is delivered, and tools change nothing: a call that{' '}
        {turn === null
          ? 'may change something'
          : 'the turn made gets its recorded result, and another that may change something'}{' '}
        is not run. It costs what a turn costs.
      </p>
      <LongField name="Message" rows={5} value={text ?? asked} required onChange={setText} />
      <div className="split">
        <Field name="Model" value={model} placeholder={turn?.model ?? 'that of the agent'} onChange={setModel} />
        <Select
          name="Thinking"
          value={thinking}
          options={withUsual(turn === null ? 'as configured' : 'as before', THINKING)}
          onChange={setThinking}
        />
      </div>
      <SystemPrompt turn={turn} value={systemPrompt} onChange={setSystemPrompt} />
    </Confirm>
  );
}

/**
 * A system prompt that is edited; `before`: that of the turn, or undefined where there is none to
 * begin with.
 */
interface SystemText {
  text: string;
  before: string | undefined;
}

/** The system prompt, from the moment on when it is to be edited. */
function SystemPrompt({
  turn,
  value,
  onChange,
}: {
  turn: Turn | null;
  value: SystemText | null;
  onChange: (value: SystemText) => void;
}): ReactElement {
  const [error, setError] = useState<unknown>(null);
  if (value !== null)
    return (
      <LongField name="System prompt" rows={10} value={value.text} onChange={(text) => onChange({ ...value, text })} />
    );
  return (
    <>
      <Button onClick={() => void readSystem(turn).then(onChange, setError)}>
        {turn === null ? 'Replace the system prompt' : 'Edit the system prompt'}
      </Button>
      {error !== null && <Problem error={error} />}
    </>
  );
}

/**
 * The system prompt that a turn was opened with. An agent has none before its turn is assembled.
 */
async function readSystem(turn: Turn | null): Promise<SystemText> {
  if (turn === null) return { text: '', before: undefined };
  const { request } = await api.getModelRequest({ id: turn.id, n: 1 });
  // The contract leaves the body of a request open: it is the provider's.
  const blocks = (request.system ?? []) as readonly { text: string }[];
  const before = blocks.map(({ text }) => text).join('\n\n');
  return { text: before, before };
}

/** The turn that answers a message; null: it has not begun in time. */
async function turnOf(id: string): Promise<string | null> {
  const endsAt = performance.now() + BEGINS_MS_MAX;
  while (performance.now() < endsAt) {
    const { turnId } = await api.getMessage({ id });
    if (turnId !== null) return turnId;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return null;
}
