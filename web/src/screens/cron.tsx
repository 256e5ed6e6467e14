// One cron: its schedule in words, the slots to come, and what became of those that were.
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type Cron, type CronFire } from '../api.ts';
import { dollarsText } from '../format/amounts.ts';
import { clockChanges, costPerMonth, runsPerMonth, scheduleText } from '../format/schedule.ts';
import { durationText, timeText } from '../format/time.ts';
import { me } from '../me.ts';
import { Age, Empty, Fact, Figure, Status, Time } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { CronForm } from './cron-form.tsx';
import { CronState } from './crons.tsx';

const route = getRouteApi('/app/crons/$id');
const FIRES = 20;
const SLOTS = 10;

export function CronScreen(): ReactElement {
  const { id } = route.useParams();
  const cron = useQuery({ queryKey: ['crons', id], queryFn: () => api.getCron({ id }) });
  if (cron.data === undefined)
    return (
      <>
        <h1>Cron</h1>
        {cron.isError ? (
          <Problem error={cron.error} onRetry={() => void cron.refetch()} />
        ) : (
          <p className="soft">Loading…</p>
        )}
      </>
    );
  return <CronView cron={cron.data} />;
}

function CronView({ cron }: { cron: Cron }): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const { id, name, schedule, payload, disabledReason } = cron;
  const fires = useQuery({ queryKey: ['crons', id, 'fires'], queryFn: () => api.listFires({ id, limit: FIRES }) });
  const next = useQuery({
    queryKey: ['crons', id, 'next', cron.updatedAt, cron.nextSlotAt],
    queryFn: () => api.listNextSlots({ id, count: SLOTS }),
  });
  const past = fires.data?.items ?? [];
  const slots = next.data?.items.map(({ slotAt }) => slotAt) ?? [];
  const ran = past.filter(({ turnId }) => turnId !== null);
  const runs = runsPerMonth(slots);
  const month = costPerMonth(
    runs,
    ran.map(({ costMicros }) => costMicros),
  );
  return (
    <>
      <div className="row">
        <h1>
          <SafeText text={name} />
        </h1>
        <CronState cron={cron} />
        {who.role !== 'viewer' && <CronActions cron={cron} />}
      </div>
      {disabledReason !== null && (
        <p className="banner" role="status">
          Holdfast has disabled it: <SafeText text={disabledReason} />. Correct the cause, then resume it.
        </p>
      )}
      <p>
        <span className="mono">{scheduleText(schedule)}</span> <Sentence schedule={schedule} />
      </p>
      <dl className="figures">
        <Figure name="Next" note={schedule.kind === 'cron' ? schedule.tz : undefined}>
          {cron.enabled ? <Age at={cron.nextRunAt} /> : 'not now'}
        </Figure>
        <Figure name="Last cost">{ran[0] === undefined ? '—' : dollarsText(ran[0].costMicros)}</Figure>
        <Figure
          name="30 days would cost"
          note={runs === null ? undefined : `${Math.round(runs)} runs, as the last ones`}
        >
          {month === null ? '—' : dollarsText(Math.round(month))}
        </Figure>
        <Figure name="Failed in a row">{cron.failures}</Figure>
      </dl>
      <dl className="facts">
        <Fact name="Agent">{cron.agentId}</Fact>
        <Fact name="Session">
          <SafeText text={cron.target} />
        </Fact>
        <Fact name="From">
          {cron.origin}
          {cron.origin === 'config' && ': edit it in the configuration file; here it can be paused and run'}
        </Fact>
        <Fact name="Missed slots">{cron.misfire ?? 'as configured'}</Fact>
        <Fact name="Reply goes">{cron.delivery?.mode ?? 'as configured'}</Fact>
        <Fact name={payload.kind === 'agentTurn' ? 'Message' : 'System event'}>
          <SafeText text={payload.kind === 'agentTurn' ? payload.message : payload.text} />
        </Fact>
      </dl>
      {fires.isError && <Problem error={fires.error} onRetry={() => void fires.refetch()} />}
      <div className="split">
        <NextSlots slots={slots} zone={schedule.kind === 'cron' ? schedule.tz : 'UTC'} />
        <Fires fires={past} isRead={fires.isSuccess} />
      </div>
    </>
  );
}

/** A cron expression in words; its library is loaded when it is first needed. */
function Sentence({ schedule }: { schedule: Cron['schedule'] }): ReactElement | null {
  const words = useQuery({
    queryKey: ['cronstrue'],
    queryFn: () => import('cronstrue'),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: schedule.kind === 'cron',
  });
  if (schedule.kind === 'at') return <Time at={schedule.at} />;
  if (schedule.kind === 'every' || words.data === undefined) return null;
  try {
    return <>{words.data.default.toString(schedule.expr, { use24HourTimeFormat: true })}</>;
  } catch {
    // Not every expression that the service takes has words.
    return null;
  }
}

function NextSlots({ slots, zone }: { slots: readonly string[]; zone: string }): ReactElement {
  const changes = clockChanges(slots, zone);
  return (
    <section className="panel" aria-labelledby="next">
      <h2 id="next">Next slots</h2>
      {slots.length === 0 && <p className="soft">There are none.</p>}
      <ol>
        {slots.map((slot, index) => (
          <li key={slot}>
            <time dateTime={slot}>{timeText(slot, zone)}</time>{' '}
            {changes[index] !== 0 && (
              <span className="chip" data-tone="warn">
                after the clocks went {changes[index]! > 0 ? 'forward' : 'back'}{' '}
                {durationText(Math.abs(changes[index]!) * 60_000)}
              </span>
            )}
          </li>
        ))}
      </ol>
      <p className="soft">Times of {zone}.</p>
    </section>
  );
}

function Fires({ fires, isRead }: { fires: readonly CronFire[]; isRead: boolean }): ReactElement {
  return (
    <section className="panel" aria-labelledby="fires">
      <h2 id="fires">Last fires</h2>
      {isRead && fires.length === 0 && <Empty>It has not fired yet.</Empty>}
      <div className="strip" aria-hidden="true">
        {fires.toReversed().map(({ scheduledFor, status }) => (
          <span key={scheduledFor} data-status={status} />
        ))}
      </div>
      <ol className="plain-list">
        {fires.map((fire) => (
          <li key={fire.scheduledFor}>
            <Status status={fire.status} /> <Time at={fire.scheduledFor} />
            {fire.isManual && ' by hand'}
            {fire.slots > 1 && ` and ${fire.slots - 1} more`}{' '}
            {fire.turnId !== null && (
              <>
                <Link to="/turns/$id" params={{ id: fire.turnId }}>
                  turn {fire.turnId.slice(-6)}
                </Link>{' '}
                {dollarsText(fire.costMicros)}{' '}
              </>
            )}
            <SafeText text={fire.reason ?? ''} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function CronActions({ cron }: { cron: Cron }): ReactElement {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [question, setQuestion] = useState<'edit' | 'delete' | null>(null);
  const [error, setError] = useState<unknown>(null);
  const { id, name, enabled, origin } = cron;

  async function act(change: () => Promise<unknown>): Promise<void> {
    setError(null);
    try {
      await change();
      await queries.invalidateQueries({ queryKey: ['crons'] });
    } catch (cause) {
      setError(cause);
    }
  }

  const close = (): void => setQuestion(null);
  return (
    <>
      <button type="button" className="button" onClick={() => void act(() => api.runCron({ id }))}>
        Run now
      </button>
      <button
        type="button"
        className="button"
        onClick={() => void act(() => api.updateCron({ id, body: { enabled: !enabled } }))}
      >
        {enabled ? 'Pause cron' : 'Resume cron'}
      </button>
      {origin !== 'config' && (
        <>
          <button type="button" className="button" onClick={() => setQuestion('edit')}>
            Edit…
          </button>
          <button type="button" className="button" data-tone="bad" onClick={() => setQuestion('delete')}>
            Delete…
          </button>
        </>
      )}
      {error !== null && <Problem error={error} />}
      {question === 'edit' && (
        <CronForm
          cron={cron}
          onClose={close}
          onSaved={(saved) => {
            queries.setQueryData(['crons', id], saved);
          }}
        />
      )}
      {question === 'delete' && (
        <Confirm
          title={`Delete the cron “${name}”?`}
          verb="Delete"
          onClose={close}
          perform={async () => {
            await api.deleteCron({ id });
            queries.removeQueries({ queryKey: ['crons', id] });
            await navigate({ to: '/crons' });
          }}
        >
          <p>It fires no more, and its record of fires is deleted. The transcripts of its runs stay.</p>
        </Confirm>
      )}
    </>
  );
}
