// The settings that a session has of its own, in place of those of the configuration.
import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Session } from '../api.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Field, Select, withUsual } from '../parts/fields.tsx';
import { MODES } from './composer.tsx';

type Patch = NonNullable<Parameters<typeof api.updateSession>[0]['body']>;

const THINKING = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'adaptive'] as const;
const REASONING = ['off', 'on', 'stream'] as const;
const DROPS = ['wait', 'summarize', 'old', 'new'] as const;

export function SessionOverrides({ session, onClose }: { session: Session; onClose: () => void }): ReactElement {
  const queries = useQueryClient();
  const [values, setValues] = useState(() => ({
    label: session.label ?? '',
    model: session.model ?? '',
    thinking: session.thinking ?? '',
    reasoning: session.reasoning ?? '',
    queueMode: session.queueMode ?? '',
    queueDrop: session.queueDrop ?? '',
    queueCap: session.queueCap?.toString() ?? '',
    queueDebounceMs: session.queueDebounceMs?.toString() ?? '',
  }));
  type Name = keyof typeof values;
  const change = (name: Name) => (value: string) => setValues((before) => ({ ...before, [name]: value }));
  const field = (name: Name, title: string) => ({ name: title, value: values[name], onChange: change(name) });
  const choice = (name: Name, title: string, options: readonly string[]): ReactElement => (
    <Select {...field(name, title)} options={withUsual('as configured', options)} />
  );
  return (
    <Confirm
      title="Overrides of this session"
      verb="Save"
      tone="main"
      onClose={onClose}
      perform={async () => {
        await api.updateSession({ key: session.key, body: patchOf(session, values) });
        void queries.invalidateQueries({ queryKey: ['session'] });
      }}
    >
      <p>An empty field means what the configuration says. A change holds from the next turn on.</p>
      <div className="split">
        <Field {...field('label', 'Name for people')} />
        <Field {...field('model', 'Model')} />
        {choice('thinking', 'Thinking', THINKING)}
        {choice('reasoning', 'Show the thinking', REASONING)}
        {choice('queueMode', 'Queue mode', MODES)}
        {choice('queueDrop', 'Messages over the cap', DROPS)}
        <Field {...field('queueCap', 'Messages in a turn, at most')} />
        <Field {...field('queueDebounceMs', 'Quiet time before a turn, in ms')} />
      </div>
    </Confirm>
  );
}

/**
 * Only what has changed. A value that the service does not take is sent as it was written: its
 * answer says what is wrong.
 */
function patchOf(session: Session, values: Record<string, string>): Patch {
  const before = session as unknown as Record<string, string | number | null>;
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const written = value.trim();
      if (written === String(before[name] ?? '')) return [];
      const isNumber = name === 'queueCap' || name === 'queueDebounceMs';
      const asNumber = Number(written);
      return [[name, written === '' ? null : isNumber && !Number.isNaN(asNumber) ? asNumber : written]];
    }),
  );
}
