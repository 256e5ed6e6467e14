// The pauses, and forms to pause and resume work.
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Pause } from '../api.ts';
import { me } from '../me.ts';
import { Age } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';

const LANES = ['main', 'subagent', 'cron', 'batch'] as const;

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

/** The pauses, each with its end; nothing when there are none. */
export function Pauses(): ReactElement | null {
  const list = useQuery({ queryKey: ['pauses'], queryFn: () => api.listPauses() });
  const { data: who } = useSuspenseQuery(me);
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const items = list.data?.items ?? [];
  if (items.length === 0 && error === null) return list.isError ? <Problem error={list.error} /> : null;

  async function resume(scope: Scope): Promise<void> {
    setError(null);
    try {
      await api.resume({ body: namedOf(scope) });
    } catch (cause) {
      setError(cause);
    }
    await Promise.all(['pauses', 'waiting'].map((name) => queries.invalidateQueries({ queryKey: [name] })));
  }

  return (
    <section className="panel" aria-labelledby="paused">
      <h2 id="paused">Paused</h2>
      {error !== null && <Problem error={error} />}
      <ul className="plain-list">
        {items.map((pause) => (
          <li key={pause.id} className="row">
            <strong>
              <SafeText text={scopeText(pause)} />
            </strong>
            <span>
              <Age at={pause.since} />, by <SafeText text={pause.pausedBy} />
              {pause.reason !== null && (
                <>
                  : <SafeText text={pause.reason} />
                </>
              )}
            </span>
            {who.role !== 'viewer' && (
              <button
                type="button"
                className="button"
                aria-label={`Resume ${scopeText(pause)}`}
                onClick={() => void resume(pause)}
              >
                Resume
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The button that asks what to pause. */
export function PauseWork(): ReactElement | null {
  const { data: who } = useSuspenseQuery(me);
  const queries = useQueryClient();
  const [scope, setScope] = useState<Scope | null>(null);
  if (who.role === 'viewer') return null;
  return (
    <>
      <button type="button" className="button" onClick={() => setScope({})}>
        Pause work…
      </button>
      {scope !== null && (
        <Confirm
          title={`Pause ${scopeText(scope)}?`}
          verb={`Pause ${scopeText(scope)}`}
          asksReason
          onClose={() => setScope(null)}
          perform={async (reason) => {
            await api.pause({ body: { ...namedOf(scope), ...(reason === undefined ? {} : { reason }) } });
            await queries.invalidateQueries();
          }}
        >
          <p>Running turns finish. No other turn begins until the pause ends; messages are accepted and wait.</p>
          <label className="field">
            Lane
            <select
              value={scope.lane ?? ''}
              onChange={({ target }) =>
                setScope({ ...scope, lane: LANES.find((lane) => lane === target.value) ?? null })
              }
            >
              <option value="">any</option>
              {LANES.map((lane) => (
                <option key={lane}>{lane}</option>
              ))}
            </select>
          </label>
          <label className="field">
            Agent
            <input
              value={scope.agent ?? ''}
              placeholder="any"
              onChange={({ target }) => setScope({ ...scope, agent: target.value.trim() })}
            />
          </label>
          <label className="field">
            Session
            <input
              value={scope.session ?? ''}
              placeholder="any"
              onChange={({ target }) => setScope({ ...scope, session: target.value.trim() })}
            />
          </label>
        </Confirm>
      )}
    </>
  );
}
