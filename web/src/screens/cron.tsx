// One cron: its schedule in words, its next slots, and the outcomes of past ones.
import { queryOptions, useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactElement } from 'react';
import { api, type Cron, type CronFire, type CronSlot } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { scheduleText } from '../format/schedule.ts';
import { durationText, isZone } from '../format/time.ts';
import { me } from '../me.ts';
import { Age, Cost, Empty, Fact, Figure, Status, Time } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { CronState, RunCost } from '../parts/cron-state.tsx';
import { FireStrip } from '../parts/fire-strip.tsx';
import { haveBegun, Loading, NoData } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { TagsFact } from '../parts/tags.tsx';
import { useSettings } from '../settings.tsx';
import { CronForm } from './cron-form.tsx';

const route = getRouteApi('/app/crons/$id');
const SLOTS = 10;

const summaryQuery = (id: string) =>
  queryOptions({ queryKey: ['crons', 'summaries', [id]], queryFn: () => api.listCronSummaries({ ids: [id] }) });

export function CronScreen(): ReactElement {
  const { id } = route.useParams();
  const cron = useQuery({ queryKey: ['crons', id], queryFn: () => api.getCron({ id }) });
  const hasBegun = haveBegun(useQuery(summaryQuery(id)));
  if (cron.data === undefined || !hasBegun)
    return (
      <>
        <h1>Cron</h1>
        <NoData query={cron} />
      </>
    );
  return <CronView cron={cron.data} />;
}

function CronView({ cron }: { cron: Cron }): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const { id, name, schedule, disabledReason } = cron;
  const summaries = useQuery(summaryQuery(id));
  const next = useQuery({
    queryKey: ['crons', id, 'next', cron.updatedAt, cron.nextSlotAt],
    queryFn: () => api.listNextSlots({ id, count: SLOTS }),
  });
  const summary = summaries.data?.items[0];
  useOfferedZone(schedule.kind === 'cron' ? schedule.tz : null);
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
        <Figure name="Last cost">
          <RunCost micros={summary?.lastCost.costMicros ?? null} fires={summary?.fires ?? []} />
        </Figure>
        <Figure
          name="This month would cost"
          note={summary && `${countText(summary.month.slotCount)} slots at the mean of the last fires`}
        >
          <RunCost micros={summary?.month.costMicros ?? null} fires={summary?.fires ?? []} />
        </Figure>
        <Figure name="Failed in a row" note={summary?.restsUntil != null && <Rest until={summary.restsUntil} />}>
          {cron.failures}
        </Figure>
      </dl>
      <CronFacts cron={cron} />
      {summaries.isError && <Problem error={summaries.error} onRetry={() => void summaries.refetch()} />}
      {haveBegun(next) ? (
        <div className="split">
          <NextSlots slots={next.data?.items ?? []} />
          <Fires fires={summary?.fires ?? []} isRead={summaries.isSuccess} />
        </div>
      ) : (
        <Loading />
      )}
    </>
  );
}

function CronFacts({ cron }: { cron: Cron }): ReactElement {
  const { payload } = cron;
  return (
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
      <TagsFact tags={cron.tags} />
      <Fact name="Reply goes">{cron.delivery?.mode ?? 'as configured'}</Fact>
      <Fact name={payload.kind === 'agentTurn' ? 'Message' : 'System event'}>
        <SafeText text={payload.kind === 'agentTurn' ? payload.message : payload.text} />
      </Fact>
    </dl>
  );
}

/** Has the header offer the zone of this cron for all times. */
function useOfferedZone(zone: string | null): void {
  const { change } = useSettings();
  useEffect(() => {
    if (zone !== null && isZone(zone)) change({ cronZone: zone });
  }, [zone, change]);
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

function Rest({ until }: { until: string }): ReactElement {
  return (
    <>
      rests after a failure, until <Age at={until} />
    </>
  );
}

function NextSlots({ slots }: { slots: readonly CronSlot[] }): ReactElement {
  const { zone } = useSettings();
  return (
    <section className="panel" aria-labelledby="next">
      <h2 id="next">Next slots</h2>
      {slots.length === 0 && <p className="soft">There are none.</p>}
      <ol>
        {slots.map(({ slotAt, clockChange }) => (
          <li key={slotAt}>
            <Time at={slotAt} />{' '}
            {clockChange !== null && (
              <span className="chip" data-tone="warn">
                {clockChangeText(clockChange)}
              </span>
            )}
          </li>
        ))}
      </ol>
      <p className="soft">
        All times of this page are {zone === 'local' ? 'of this device' : `of ${zone === 'utc' ? 'UTC' : zone}`}, as
        chosen in the header.
      </p>
    </section>
  );
}

function clockChangeText({ offsetMinutesBefore, offsetMinutesAfter }: NonNullable<CronSlot['clockChange']>): string {
  const minutes = offsetMinutesAfter - offsetMinutesBefore;
  return `after the clocks went ${minutes > 0 ? 'forward' : 'back'} ${durationText(Math.abs(minutes) * 60_000)}`;
}

function Fires({ fires, isRead }: { fires: readonly CronFire[]; isRead: boolean }): ReactElement {
  return (
    <section className="panel" aria-labelledby="fires">
      <h2 id="fires">Last fires</h2>
      {isRead && fires.length === 0 && <Empty>It has not fired yet.</Empty>}
      {fires.length > 0 && <FireStrip fires={fires} />}
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
                <Cost of={fire} isInColumn />{' '}
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
