// Spending by time and group, the saving of the cache, and the budgets.
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useMemo, type ReactElement } from 'react';
import { api } from '../api.ts';
import { columnDollarsText, countText, dollarsText, percentText, usdText } from '../format/amounts.ts';
import { cacheSavingUsd, csvOf, sumOf, sumsBy, type Spend, type UsedStep } from '../format/spend.ts';
import { serverNowMs } from '../format/time.ts';
import { Empty, Figure } from '../parts/bits.tsx';
import { haveBegun, Loading } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { saveFile } from '../parts/save-file.ts';
import { TimeChart, tokenSeries } from '../parts/time-chart.tsx';
import { Budgets, budgetsQuery } from './budgets.tsx';
import { Choice, Filters, TextFilter } from './filters.tsx';
import { TopCosts } from './top-costs.tsx';

const route = getRouteApi('/app/costs');

const GROUPS = ['agent', 'model', 'lane', 'tier', 'kind'] as const;
const STEPS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
const SPANS = { minute: 'last hour', hour: 'last two days', day: 'last 30 days' } as const;
const STEPS_SHOWN = { minute: 60, hour: 48, day: 30 } as const;

type By = keyof typeof STEPS;
type Group = (typeof GROUPS)[number];
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
          name="Steps"
          value={by}
          options={Object.keys(STEPS)}
          usual="day"
          onChange={(next) => change({ by: next })}
        />
        <Choice name="By" value={group} options={GROUPS} usual="model" onChange={(next) => change({ group: next })} />
        <TextFilter name="Tag, as key:value" value={tag} onChange={(next) => change({ tag: next })} />
      </Filters>
      {haveBegun(useUsage({ by, group, tag }), useQuery(budgetsQuery)) ? (
        <>
          <Spent by={by} group={group} tag={tag} />
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

function Spent({ by, group, tag }: UsageShown): ReactElement {
  const usage = useUsage({ by, group, tag });
  const byModel = useUsage({ by, group: 'model', tag });
  const steps = usage.data?.items;
  const prices = useQuery({ queryKey: ['prices'], queryFn: () => api.getPrices(), enabled: (steps?.length ?? 0) > 0 });
  const times = useMemo(() => stepsOf(by, steps ?? []), [by, steps]);
  if (usage.isError) return <Problem error={usage.error} onRetry={() => void usage.refetch()} />;
  if (steps === undefined) return <Loading />;
  if (steps.length === 0)
    return <Empty command={'npx holdfast send main "Hello"'}>Nothing was spent in this time.</Empty>;
  const sum = sumOf(steps);
  const spendAt = new Map(sumsBy(steps, 'startsAt'));
  const valuesOf = (figure: (spend: Spend) => number): number[] =>
    times.map((time) => {
      const spend = spendAt.get(time);
      return spend === undefined ? 0 : figure(spend);
    });
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
          panes={[{ text: dollarsText, series: [{ name: 'Cost', values: valuesOf(({ costMicros }) => costMicros) }] }]}
        />
        <TimeChart
          title="Tokens"
          span={SPANS[by]}
          times={times}
          panes={[
            {
              text: countText,
              series: tokenSeries({
                inputTokens: valuesOf(({ inputTokens }) => inputTokens),
                cacheReadTokens: valuesOf(({ cacheReadTokens }) => cacheReadTokens),
                cacheWriteTokens: valuesOf(({ cacheWriteTokens }) => cacheWriteTokens),
                outputTokens: valuesOf(({ outputTokens }) => outputTokens),
              }),
            },
          ]}
        />
      </div>
      <GroupTable steps={steps} group={group} whole={sum.costMicros} />
    </>
  );
}

/** When each step begins, oldest first, also those in which nothing happened. */
function stepsOf(by: By, used: readonly UsedStep[]): string[] {
  const stepMs = STEPS[by];
  const lastMs = Math.floor(serverNowMs() / stepMs) * stepMs;
  const shown = Array.from({ length: STEPS_SHOWN[by] }, (_, n) =>
    new Date(lastMs - (STEPS_SHOWN[by] - 1 - n) * stepMs).toISOString(),
  );
  // Steps of the service are written as it writes times; those with usage are shown even when the clocks differ.
  return [...new Set([...shown, ...used.map(({ startsAt }) => startsAt)])].toSorted();
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
  const read = sum.inputTokens + sum.cacheReadTokens + sum.cacheWriteTokens;
  return (
    <dl className="figures">
      <Figure
        name="Cost"
        note={
          sum.unpricedCalls === 0 ? span : `without ${countText(sum.unpricedCalls)} calls of models without a price`
        }
      >
        {dollarsText(sum.costMicros)}
      </Figure>
      <Figure name="Model calls" note={`${countText(sum.failures)} failed, ${countText(sum.turns)} turns`}>
        {countText(sum.calls)}
      </Figure>
      <Figure name="Input" note={`${percentText(sum.cacheReadTokens, read)} from the cache`}>
        {countText(read)}
      </Figure>
      <Figure name="Written to the cache">{countText(sum.cacheWriteTokens)}</Figure>
      <Figure name="Output">{countText(sum.outputTokens)}</Figure>
      <Figure name="Saved by the cache" note="by the standard prices of now">
        {saved === null ? 'not known' : `${saved < 0 ? '−' : ''}${usdText(Math.abs(saved))}`}
      </Figure>
    </dl>
  );
}

function GroupTable(props: { steps: readonly UsedStep[]; group: string; whole: number }): ReactElement {
  const { steps, group, whole } = props;
  const groups = sumsBy(steps, 'group').toSorted(([, a], [, b]) => b.costMicros - a.costMicros);
  function download(): void {
    const heads = ['starts', group, 'turns', 'calls', 'input', 'cacheRead', 'cacheWrite', 'output', 'costUsd'];
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
    saveFile({ name: `holdfast-costs-by-${group}.csv`, text: csvOf([heads, ...rows]), type: 'text/csv' });
  }
  return (
    <section className="panel scroll-x" aria-labelledby="groups" tabIndex={0}>
      <div className="row">
        <h2 id="groups">By {group}</h2>
        <button type="button" className="button" onClick={download}>
          Download CSV
        </button>
      </div>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{group}</th>
            {['Cost', 'Part', 'Turns', 'Calls', 'Input', 'From the cache', 'Output'].map((title) => (
              <th key={title} scope="col" className="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {groups.map(([name, sum]) => (
            <tr key={name}>
              <th scope="row">
                <SafeText text={name} />
              </th>
              <td className="number">{columnDollarsText(sum.costMicros)}</td>
              <td className="number">{percentText(sum.costMicros, whole)}</td>
              <td className="number">{countText(sum.turns)}</td>
              <td className="number">{countText(sum.calls)}</td>
              <td className="number">{countText(sum.inputTokens + sum.cacheReadTokens + sum.cacheWriteTokens)}</td>
              <td className="number">{countText(sum.cacheReadTokens)}</td>
              <td className="number">{countText(sum.outputTokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
