// One cron: its schedule in words, its next runs, and how the last ones ended.
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useEffect, type ReactElement } from 'react';
import { api, type Cron, type CronFire, type CronSlot } from '../api.ts';
import { namedCountText } from '../format/amounts.ts';
import { scheduleText } from '../format/schedule.ts';
import { durationText, isZone } from '../format/time.ts';
import { useCanAct } from '../me.ts';
import { Age, Chip, Cost, Empty, Facts, Figure, Status, Time } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { useActions } from '../parts/use-actions.tsx';
import { CronState, ORIGINS, RunCost } from '../parts/cron-state.tsx';
import { ConfirmButton, DialogButton } from '../parts/dialog-button.tsx';
import { FireStrip } from '../parts/fire-strip.tsx';
import { TurnLink } from '../parts/links.tsx';
import { Fault, haveBegun, Loading, NoData } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Tags } from '../parts/tags.tsx';
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
        {useCanAct() && (
          <span className="row end">
            <CronActions cron={cron} />
          </span>
        )}
      </div>
      {disabledReason !== null && (
        <p className="banner" role="status">
          Holdfast has disabled this cron: <SafeText text={disabledReason} />. Correct the cause, then resume it.
        </p>
      )}
      <p>
        <span className="mono">{scheduleText(schedule)}</span> <Sentence schedule={schedule} />
      </p>
      <dl className="figures">
        <Figure name="Next run" note={schedule.kind === 'cron' ? schedule.tz : undefined}>
          {cron.enabled ? <Age at={cron.nextRunAt} /> : 'paused'}
        </Figure>
        <Figure name="Last cost">
          <RunCost micros={summary?.lastCost.costMicros ?? null} fires={summary?.fires ?? []} />
        </Figure>
        <Figure
          name="Estimated cost this month"
          note={summary && `${namedCountText(summary.month.slotCount, 'run')} at the average cost of the last ones`}
        >
          <RunCost micros={summary?.month.costMicros ?? null} fires={summary?.fires ?? []} />
        </Figure>
        <Figure
          name="Failures in a row"
          note={
            summary?.restsUntil != null && (
              <>
                skips runs after a failure, runs again <Age at={summary.restsUntil} />
              </>
            )
          }
        >
          {cron.failures}
        </Figure>
      </dl>
      <CronFacts cron={cron} />
      <Fault query={summaries} />
      {haveBegun(next) ? (
        <div className="split">
          <NextRuns slots={next.data?.items ?? []} />
          <LastRuns fires={summary?.fires ?? []} isRead={summaries.isSuccess} />
        </div>
      ) : (
        <Loading />
      )}
    </>
  );
}

const TARGETS: Readonly<Record<string, string>> = { main: 'the main one', isolated: 'one of its own' };
const REPLIES = {
  none: 'not sent',
  last: 'sent where the last one was sent',
  webhook: 'sent to a webhook',
  channel: 'sent to a chat',
} as const;

function CronFacts({ cron }: { cron: Cron }): ReactElement {
  const { payload, target, origin, misfire, delivery } = cron;
  return (
    <Facts
      facts={{
        Agent: cron.agentId,
        Session: TARGETS[target] ?? <SafeText text={target} />,
        'Created by':
          origin === 'config'
            ? 'the configuration file: change it there; here you can pause it and run it'
            : ORIGINS[origin],
        'Missed runs': misfire?.replaceAll('_', ' ') ?? 'as configured',
        Tags: Object.keys(cron.tags).length > 0 && <Tags tags={cron.tags} />,
        Reply: delivery === null ? 'as configured' : REPLIES[delivery.mode],
        [payload.kind === 'agentTurn' ? 'Message' : 'System event']: (
          <SafeText text={payload.kind === 'agentTurn' ? payload.message : payload.text} />
        ),
      }}
    />
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

const ZONES: Readonly<Record<string, string>> = { local: 'the time zone of this device', utc: 'UTC' };

function NextRuns({ slots }: { slots: readonly CronSlot[] }): ReactElement {
  const { zone } = useSettings();
  return (
    <Panel title="Next runs">
      {slots.length === 0 && <p className="soft">No run is planned.</p>}
      <ol>
        {slots.map(({ slotAt, clockChange }) => (
          <li key={slotAt}>
            <Time at={slotAt} />{' '}
            <span className="soft">
              <Age at={slotAt} />
            </span>{' '}
            {clockChange !== null && <Chip tone="warn">{clockChangeText(clockChange)}</Chip>}
          </li>
        ))}
      </ol>
      <p className="soft">Times are in {ZONES[zone] ?? zone}, as chosen in the menu of the header.</p>
    </Panel>
  );
}

function clockChangeText({ offsetMinutesBefore, offsetMinutesAfter }: NonNullable<CronSlot['clockChange']>): string {
  const minutes = offsetMinutesAfter - offsetMinutesBefore;
  return `after the clocks went ${minutes > 0 ? 'forward' : 'back'} ${durationText(Math.abs(minutes) * 60_000)}`;
}

function LastRuns({ fires, isRead }: { fires: readonly CronFire[]; isRead: boolean }): ReactElement {
  return (
    <Panel title="Last runs">
      {isRead && fires.length === 0 && <Empty>It has not run yet.</Empty>}
      {fires.length > 0 && <FireStrip fires={fires} />}
      <ol className="plain-list">
        {fires.map((fire) => (
          <li key={fire.scheduledFor} className="run">
            <Status status={fire.status} />
            <span>
              <Time at={fire.scheduledFor} />
              {fire.isManual && ' by hand'}
              {fire.slots > 1 && ` and ${fire.slots - 1} more`} <SafeText text={fire.reason ?? ''} />
            </span>
            {fire.turnId !== null && (
              <>
                <TurnLink id={fire.turnId} />
                <span className="number">
                  <Cost of={fire} isInColumn />
                </span>
              </>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function CronActions({ cron }: { cron: Cron }): ReactElement {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { act, problem } = useActions('crons');
  const { id, name, enabled, origin } = cron;
  const keep = (saved: Cron): void => void queries.setQueryData(['crons', id], saved);
  return (
    <>
      <Button onClick={() => act(() => api.runCron({ id }))}>Run now</Button>
      <Button onClick={() => act(() => api.updateCron({ id, body: { enabled: !enabled } }))}>
        {enabled ? 'Pause cron' : 'Resume cron'}
      </Button>
      {origin !== 'config' && (
        <>
          <DialogButton dialog={(close) => <CronForm cron={cron} onClose={close} onSaved={keep} />}>
            Change…
          </DialogButton>
          <ConfirmButton
            name="Delete…"
            buttonTone="bad"
            title={`Delete the cron “${name}”?`}
            verb="Delete the cron"
            perform={async () => {
              await api.deleteCron({ id });
              queries.removeQueries({ queryKey: ['crons', id] });
              await navigate({ to: '/crons' });
            }}
          >
            <p>It runs no more, and the record of its runs is deleted. The transcripts of its runs stay.</p>
          </ConfirmButton>
        </>
      )}
      {problem}
    </>
  );
}
