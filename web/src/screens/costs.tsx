// Spending by time and group, the saving of the cache, and the budgets.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useMemo, type ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api } from '../api.ts';
import { columnDollarsText, countText, dollarsText, namedCountText, percentText, usdText } from '../format/amounts.ts';
import { cacheSavingUsd, csvOf, stepsOf, sumOf, sumsBy, type Spend, type UsedStep } from '../format/spend.ts';
import { serverNowMs } from '../format/time.ts';
import { Empty, Figure, NoMatch } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { haveBegun, Loading, NoData } from '../parts/loading.tsx';
import { Panel, PlainTable, type PlainColumn } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { saveFile } from '../parts/save-file.ts';
import { TimeChart, tokenSeries } from '../parts/time-chart.tsx';
import { Budgets, budgetsQuery } from './budgets.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';
import { TopCosts } from './top-costs.tsx';

const route = getRouteApi('/app/costs');

const STEPS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
const SPANS = { minute: 'last hour', hour: 'last two days', day: 'last 30 days' } as const;
const STEPS_SHOWN = { minute: 60, hour: 48, day: 30 } as const;

type By = keyof typeof STEPS;
type Group = (typeof CHOICES.getUsage.group)[number];
type SpentName = 'costMicros' | 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens';
type Search = ReturnType<typeof route.useSearch>;

interface UsageShown {
  by: By;
  group: Group;
  /** Only of turns with this tag. */
  tag: string | undefined;
}

export function Costs(): ReactElement {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/costs' });
  const by = (search.by ?? 'day') as By;
  const group = (search.group ?? 'model') as Group;
  const { tag } = search;
  const change = (part: Partial<Search>): void => void navigate({ search: (before) => ({ ...before, ...part }) });
  return (
    <>
      <h1>Costs</h1>
      <Filters>
        <Choice
          name="Interval"
          value={by}
          options={CHOICES.getUsage.by}
          usual="day"
          onChange={(next) => change({ by: next })}
        />
        <Choice
          name="Group by"
          value={group}
          options={CHOICES.getUsage.group}
          usual="model"
          onChange={(next) => change({ group: next })}
        />
        <TextFilter name="Tag, as key:value" value={tag} onChange={(next) => change({ tag: next })} />
      </Filters>
      {haveBegun(useUsage({ by, group, tag }), useQuery(budgetsQuery)) ? (
        <>
          <Spent {...{ by, group, tag }} onClear={() => change({ tag: undefined })} />
          <TopCosts from={beginningOf(by)} span={SPANS[by]} tag={tag} />
          <Budgets />
          <p className="soft">
            Prices are in the{' '}
            <Link to="/settings" search={{ tab: 'prices' }}>
              settings
            </Link>
            .
          </p>
        </>
      ) : (
        <Loading />
      )}
    </>
  );
}

function Spent({ by, group, tag, onClear }: UsageShown & { onClear: () => void }): ReactElement {
  const usage = useUsage({ by, group, tag });
  const byModel = useUsage({ by, group: 'model', tag });
  const steps = usage.data?.items;
  const prices = useQuery({ queryKey: ['prices'], queryFn: () => api.getPrices(), enabled: (steps?.length ?? 0) > 0 });
  const times = useMemo(() => stepsOf(STEPS[by], STEPS_SHOWN[by], steps ?? []), [by, steps]);
  if (usage.isError || steps === undefined) return <NoData query={usage} />;
  if (steps.length === 0) {
    return tag === undefined ? (
      <Empty command={'npx holdfast send main "Hello"'}>
        No model was called in the {SPANS[by]}. A message causes a call:
      </Empty>
    ) : (
      <NoMatch noun={`model call of the ${SPANS[by]}`} onClear={onClear} />
    );
  }
  const sum = sumOf(steps);
  const spendAt = new Map(sumsBy(steps, 'startsAt'));
  const valuesOf = (name: SpentName): number[] => times.map((time) => spendAt.get(time)?.[name] ?? 0);
  const saved =
    byModel.data === undefined || prices.data === undefined
      ? null
      : cacheSavingUsd(sumsBy(byModel.data.items, 'group'), prices.data.rows);
  return (
    <>
      <FigureList sum={sum} saved={saved} span={SPANS[by]} />
      {usage.data?.simulated === true && (
        <p className="soft">Some of it is simulated: the scripted model answered, and that money was not spent.</p>
      )}
      <div className="split">
        <TimeChart
          title="Cost"
          span={SPANS[by]}
          times={times}
          panes={[{ text: dollarsText, series: [{ name: 'Cost', values: valuesOf('costMicros') }] }]}
        />
        <TimeChart
          title="Tokens"
          span={SPANS[by]}
          times={times}
          panes={[
            {
              text: countText,
              series: tokenSeries({
                inputTokens: valuesOf('inputTokens'),
                cacheReadTokens: valuesOf('cacheReadTokens'),
                cacheWriteTokens: valuesOf('cacheWriteTokens'),
                outputTokens: valuesOf('outputTokens'),
              }),
            },
          ]}
        />
      </div>
      <GroupTable steps={steps} group={group} whole={sum.costMicros} />
    </>
  );
}

function useUsage({ by, group, tag }: UsageShown) {
  return useQuery({
    queryKey: ['usage', by, group, tag],
    queryFn: () => api.getUsage({ by, group, from: beginningOf(by), tag }),
  });
}

/** When the first step begins that is shown. */
function beginningOf(by: By): string {
  return new Date(Math.floor(serverNowMs() / STEPS[by] - STEPS_SHOWN[by] + 1) * STEPS[by]).toISOString();
}

function FigureList({ sum, saved, span }: { sum: Spend; saved: number | null; span: string }): ReactElement {
  const read = readOf(sum);
  const unpriced = `without ${namedCountText(sum.unpricedCalls, 'call')} of models without a price`;
  return (
    <dl className="figures">
      <Figure name="Cost" note={sum.unpricedCalls === 0 ? span : unpriced}>
        {dollarsText(sum.costMicros)}
      </Figure>
      <Figure name="Model calls" note={`in ${namedCountText(sum.turns, 'turn')}; ${countText(sum.failures)} failed`}>
        {countText(sum.calls)}
      </Figure>
      <Figure name="Input tokens" note={`${percentText(sum.cacheReadTokens, read)} read from the cache`}>
        {countText(read)}
      </Figure>
      <Figure name="Written to the cache" note="tokens">
        {countText(sum.cacheWriteTokens)}
      </Figure>
      <Figure name="Output tokens">{countText(sum.outputTokens)}</Figure>
      <Figure name="Saved by the cache" note="at today's standard prices">
        {saved === null ? 'not known' : `${saved < 0 ? '−' : ''}${usdText(Math.abs(saved))}`}
      </Figure>
    </dl>
  );
}

/** All tokens of the input. */
const readOf = (of: Spend): number => of.inputTokens + of.cacheReadTokens + of.cacheWriteTokens;

const CSV_HEADS = ['turns', 'calls', 'input', 'cacheRead', 'cacheWrite', 'output', 'costUsd'] as const;

function download(steps: readonly UsedStep[], group: string): void {
  const rows = steps.map((step) => [
    step.startsAt,
    step.group,
    step.turns,
    step.calls,
    step.inputTokens,
    step.cacheReadTokens,
    step.cacheWriteTokens,
    step.outputTokens,
    step.costMicros === null ? null : step.costMicros / 1_000_000,
  ]);
  const text = csvOf([['starts', group, ...CSV_HEADS], ...rows]);
  saveFile({ name: `holdfast-costs-by-${group}.csv`, text, type: 'text/csv' });
}

function GroupTable(props: { steps: readonly UsedStep[]; group: string; whole: number }): ReactElement {
  const { steps, group, whole } = props;
  const number = (title: string, text: (sum: Spend) => string): PlainColumn<[string, Spend]> => ({
    title,
    isNumber: true,
    cell: ([, sum]) => text(sum),
  });
  return (
    <Panel
      title={`By ${group}`}
      buttons={<Button onClick={() => download(steps, group)}>Download CSV</Button>}
      className="scroll-x"
      tabIndex={0}
    >
      <PlainTable
        columns={[
          { title: `${group.charAt(0).toUpperCase()}${group.slice(1)}`, cell: ([name]) => <SafeText text={name} /> },
          number('Cost', ({ costMicros }) => columnDollarsText(costMicros)),
          number('Share', ({ costMicros }) => percentText(costMicros, whole)),
          number('Turns', ({ turns }) => countText(turns)),
          number('Model calls', ({ calls }) => countText(calls)),
          number('Input tokens', (sum) => countText(readOf(sum))),
          number('From the cache', ({ cacheReadTokens }) => countText(cacheReadTokens)),
          number('Output tokens', ({ outputTokens }) => countText(outputTokens)),
        ]}
        rows={sumsBy(steps, 'group').toSorted(([, a], [, b]) => b.costMicros - a.costMicros)}
        idOf={([name]) => name}
      />
    </Panel>
  );
}
