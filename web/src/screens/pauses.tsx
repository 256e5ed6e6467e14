// The pauses, and forms to pause and resume work.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Pause } from '../api.ts';
import { useCanActOnMany, useSeesAll } from '../me.ts';
import { Age } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { useActions } from '../parts/use-actions.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { DialogButton } from '../parts/dialog-button.tsx';
import { Field, Select } from '../parts/fields.tsx';
import { Fault } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';

const LANES = { '': 'any', main: 'main', subagent: 'subagent', cron: 'cron', batch: 'batch' } as const;

interface Scope {
  lane?: Pause['lane'];
  agent?: string | null;
  session?: string | null;
}

/** `everything`, or the named scope. */
function scopeText({ lane, agent, session }: Scope): string {
  const named = Object.entries({ lane, agent, session }).filter(([, name]) => name != null && name !== '');
  return named.length === 0 ? 'everything' : named.map(([kind, name]) => `${kind} ${name}`).join(', ');
}

/** The fields that are not empty. */
function namedOf({ lane, agent, session }: Scope) {
  return {
    ...(lane == null ? {} : { lane }),
    ...(agent == null || agent === '' ? {} : { agent }),
    ...(session == null || session === '' ? {} : { session }),
  };
}

/** The pauses, which only a key for the whole service may read. */
export function usePauses() {
  return useQuery({ queryKey: ['pauses'], queryFn: () => api.listPauses(), enabled: useSeesAll() });
}

/** The pauses, each with its end; nothing when there are none. */
export function Pauses(): ReactElement {
  const list = usePauses();
  return (
    <>
      <Fault query={list} />
      <PauseList items={list.data?.items ?? []} />
    </>
  );
}

export function PauseList({ items }: { items: readonly Pause[] }): ReactElement | null {
  const canAct = useCanActOnMany();
  const { act, problem } = useActions('pauses', 'waiting', 'agents');
  if (items.length === 0 && problem === null) return null;
  return (
    <Panel title="Paused" className="notice">
      {problem}
      <ul className="plain-list">
        {items.map((pause) => (
          <li key={pause.id} className="row">
            <strong>
              <SafeText text={scopeText(pause)} />
            </strong>
            <span>
              <Age at={pause.since} /> by <SafeText text={pause.pausedBy ?? 'another key'} />
              {pause.reason !== null && (
                <>
                  : <SafeText text={pause.reason} />
                </>
              )}
            </span>
            {canAct && (
              <Button
                aria-label={`Resume ${scopeText(pause)}`}
                onClick={() => act(() => api.resume({ body: namedOf(pause) }))}
              >
                Resume
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

interface PauseWorkProps {
  /** The one that is proposed. */
  of?: Scope;
  label?: string;
  children?: string;
}

/** The button that asks what to pause. */
export function PauseWork({ of = {}, label, children = 'Pause work…' }: PauseWorkProps): ReactElement | null {
  if (!useCanActOnMany()) return null;
  return (
    <DialogButton aria-label={label} dialog={(close) => <PauseForm of={of} onClose={close} />}>
      {children}
    </DialogButton>
  );
}

function PauseForm({ of, onClose }: { of: Scope; onClose: () => void }): ReactElement {
  const queries = useQueryClient();
  const [scope, setScope] = useState(of);
  return (
    <Confirm
      title={`Pause ${scopeText(scope)}?`}
      verb={`Pause ${scopeText(scope)}`}
      asksReason
      onClose={onClose}
      perform={async (reason) => {
        await api.pause({ body: { ...namedOf(scope), ...(reason === undefined ? {} : { reason }) } });
        await queries.invalidateQueries();
      }}
    >
      <p>
        Running turns finish. No other turn begins in any process until the pause ends; messages are accepted and wait.
      </p>
      <Select
        name="Lane"
        value={scope.lane ?? ''}
        options={LANES}
        onChange={(chosen) => setScope({ ...scope, lane: chosen === '' ? null : chosen })}
      />
      {(['agent', 'session'] as const).map((kind) => (
        <Field
          key={kind}
          name={kind === 'agent' ? 'Agent' : 'Session'}
          value={scope[kind] ?? ''}
          placeholder="any"
          onChange={(text) => setScope({ ...scope, [kind]: text.trim() })}
        />
      ))}
    </Confirm>
  );
}
