// Creates or changes a cron: its schedule and its action. Its other settings are unchanged.
import { useState, type ReactElement } from 'react';
import { api, type Cron } from '../api.ts';
import { Confirm } from '../parts/confirm.tsx';

type Body = Parameters<typeof api.createCron>[0]['body'];

interface Fields {
  name: string;
  agentId: string;
  target: string;
  when: 'cron' | 'every' | 'at';
  expr: string;
  tz: string;
  every: string;
  at: string;
  what: 'agentTurn' | 'systemEvent';
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
  return (
    <Confirm
      title={cron === undefined ? 'New cron' : 'Change the cron'}
      verb={cron === undefined ? 'Add' : 'Save'}
      onClose={onClose}
      perform={save}
    >
      <Field name="Name" value={fields.name} onChange={(name) => change({ name })} />
      <Field name="Agent (empty: the first one)" value={fields.agentId} onChange={(agentId) => change({ agentId })} />
      <Field
        name="Session: main, isolated or session:<key> (empty: as usual for what it does)"
        value={fields.target}
        onChange={(target) => change({ target })}
      />
      <label className="field">
        When
        <select value={fields.when} onChange={(event) => change({ when: event.target.value as Fields['when'] })}>
          <option value="cron">by a cron expression</option>
          <option value="every">at an interval</option>
          <option value="at">once</option>
        </select>
      </label>
      {fields.when === 'cron' && (
        <>
          <Field name="Cron expression" value={fields.expr} onChange={(expr) => change({ expr })} />
          <Field
            name="Time zone, such as Europe/Berlin (empty: that of the agent)"
            value={fields.tz}
            onChange={(tz) => change({ tz })}
          />
        </>
      )}
      {fields.when === 'every' && (
        <Field name="Interval, such as 30m" value={fields.every} onChange={(every) => change({ every })} />
      )}
      {fields.when === 'at' && (
        <Field name="Time, such as 2027-01-31T09:00:00Z" value={fields.at} onChange={(at) => change({ at })} />
      )}
      <label className="field">
        What a run does
        <select value={fields.what} onChange={(event) => change({ what: event.target.value as Fields['what'] })}>
          <option value="agentTurn">the agent gets a message</option>
          <option value="systemEvent">the session gets a system event</option>
        </select>
      </label>
      <label className="field">
        Text
        <textarea value={fields.text} onChange={(event) => change({ text: event.target.value })} />
      </label>
    </Confirm>
  );
}

function Field(props: { name: string; value: string; onChange: (value: string) => void }): ReactElement {
  const { name, value, onChange } = props;
  return (
    <label className="field">
      {name}
      <input value={value} onChange={(event) => onChange(event.target.value)} />
    </label>
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

/** The values of the fields. Fields that a change omits are unchanged; parts of a schedule and a payload without a field are kept. */
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
