// Creates or changes a cron: its schedule and its action. Its other settings are unchanged.
import { useState, type ReactElement } from 'react';
import { api, type Cron } from '../api.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Field, LongField, Select } from '../parts/fields.tsx';

type Body = Parameters<typeof api.createCron>[0]['body'];

const WHEN = { cron: 'by a cron expression', every: 'at an interval', at: 'once' } as const;
const WHAT = { agentTurn: 'the agent gets a message', systemEvent: 'the session gets a system event' } as const;

interface Fields {
  name: string;
  agentId: string;
  target: string;
  when: keyof typeof WHEN;
  expr: string;
  tz: string;
  every: string;
  at: string;
  what: keyof typeof WHAT;
  text: string;
}

const NEW: Fields = {
  name: '',
  agentId: '',
  target: '',
  when: 'cron',
  expr: '0 9 * * 1-5',
  tz: '',
  every: '1h',
  at: '',
  what: 'agentTurn',
  text: '',
};

interface CronFormProps {
  /** The one to change; absent: a new one. */
  cron?: Cron;
  onClose: () => void;
  onSaved: (cron: Cron) => void;
}

export function CronForm({ cron, onClose, onSaved }: CronFormProps): ReactElement {
  const [fields, setFields] = useState<Fields>(cron === undefined ? NEW : fieldsOf(cron));
  const change = (part: Partial<Fields>): void => setFields((before) => ({ ...before, ...part }));
  async function save(): Promise<void> {
    const body = bodyOf(fields, cron);
    onSaved(cron === undefined ? await api.createCron({ body }) : await api.updateCron({ id: cron.id, body }));
  }
  const text = (name: 'name' | 'agentId' | 'target' | 'expr' | 'tz' | 'every' | 'at', title: string): ReactElement => (
    <Field name={title} value={fields[name]} onChange={(value) => change({ [name]: value })} />
  );
  return (
    <Confirm
      title={cron === undefined ? 'Add a cron' : 'Change the cron'}
      verb={cron === undefined ? 'Add the cron' : 'Save the cron'}
      tone="main"
      onClose={onClose}
      perform={save}
    >
      {text('name', 'Name')}
      {text('agentId', 'Agent (empty: the first one)')}
      {text('target', 'Session: main, isolated or session:<key> (empty: as usual for what it does)')}
      <Select name="When" value={fields.when} options={WHEN} onChange={(when) => change({ when })} />
      {fields.when === 'cron' && (
        <>
          {text('expr', 'Cron expression')}
          {text('tz', 'Time zone, such as Europe/Berlin (empty: that of the agent)')}
        </>
      )}
      {fields.when === 'every' && text('every', 'Interval, such as 30m')}
      {fields.when === 'at' && text('at', 'Time, such as 2027-01-31T09:00:00Z')}
      <Select name="What a run does" value={fields.what} options={WHAT} onChange={(what) => change({ what })} />
      <LongField name="Text" value={fields.text} onChange={(written) => change({ text: written })} />
    </Confirm>
  );
}

function fieldsOf({ name, agentId, target, schedule, payload }: Cron): Fields {
  return {
    ...NEW,
    name,
    agentId,
    target,
    when: schedule.kind,
    ...(schedule.kind === 'cron' ? { expr: schedule.expr, tz: schedule.tz } : {}),
    ...(schedule.kind === 'every' ? { every: `${schedule.everyMs / 1_000}s` } : {}),
    ...(schedule.kind === 'at' ? { at: schedule.at } : {}),
    what: payload.kind,
    text: payload.kind === 'agentTurn' ? payload.message : payload.text,
  };
}

/**
 * The values of the fields. Fields that a change omits are unchanged; parts of a schedule and a
 * payload without a field are kept.
 */
function bodyOf(fields: Fields, before: Cron | undefined): Body {
  const given = Object.fromEntries(
    Object.entries({ name: fields.name, agentId: fields.agentId, target: fields.target }).filter(
      ([, text]) => text.trim() !== '',
    ),
  );
  return { ...given, schedule: scheduleOf(fields, before), payload: payloadOf(fields, before) };
}

function scheduleOf({ when, expr, tz, every, at }: Fields, before: Cron | undefined): Body['schedule'] {
  const kept = before?.schedule;
  if (when === 'at') return { kind: 'at', at };
  if (when === 'every') {
    return { ...(kept?.kind === 'every' ? { anchor: kept.anchor } : {}), kind: 'every', everyMs: every };
  }
  const stagger = kept?.kind === 'cron' && kept.staggerMs !== undefined ? { staggerMs: kept.staggerMs } : {};
  return { kind: 'cron', expr, ...(tz.trim() === '' ? {} : { tz }), ...stagger };
}

function payloadOf({ what, text }: Fields, before: Cron | undefined): Body['payload'] {
  const kept = before?.payload;
  if (what === 'systemEvent') return { kind: 'systemEvent', text };
  // The levels of thinking that the service answers are those that it takes.
  return { ...(kept?.kind === 'agentTurn' ? kept : {}), kind: 'agentTurn', message: text } as Body['payload'];
}
