// The budgets: their spending and reservations, the expected spending of the window, and forms for those that can be changed here.
import { queryOptions, useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Budget } from '../api.ts';
import { usdText } from '../format/amounts.ts';
import { forecastUsd } from '../format/spend.ts';
import { me } from '../me.ts';
import { Age } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useNow } from '../settings.tsx';

const PERIODS = ['hour', 'day', 'month', 'total'] as const;
const ACTIONS = ['pause', 'fail'] as const;

type Question = { kind: 'new' } | { kind: 'change' | 'remove'; budget: Budget };

export const budgetsQuery = queryOptions({ queryKey: ['budgets'], queryFn: () => api.listBudgets() });

/** Why a budget cannot be changed here; null: it can. */
function reasonFixed({ origin }: Budget): string | null {
  if (origin === 'config') return 'change it in the configuration file';
  return origin === 'batch' ? 'change the cap of the batch' : null;
}

export function Budgets(): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const queries = useQueryClient();
  const [question, setQuestion] = useState<Question | null>(null);
  const list = useQuery(budgetsQuery);
  const budgets = list.data?.items ?? [];
  const done = (): Promise<void> => queries.invalidateQueries({ queryKey: ['budgets'] });
  return (
    <section className="panel" aria-labelledby="budgets">
      <div className="row">
        <h2 id="budgets">Budgets</h2>
        {who.role !== 'viewer' && (
          <button type="button" className="button" onClick={() => setQuestion({ kind: 'new' })}>
            New budget…
          </button>
        )}
      </div>
      {list.isError && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && budgets.length === 0 && <p className="soft">There is none: nothing limits what is spent.</p>}
      <ul className="plain-list">
        {budgets.map((budget) => (
          <li key={budget.id} className="row">
            <BudgetLine budget={budget} />
            {reasonFixed(budget) === null
              ? who.role !== 'viewer' && (
                  <>
                    <button type="button" className="button" onClick={() => setQuestion({ kind: 'change', budget })}>
                      Change…
                    </button>
                    <button
                      type="button"
                      className="button"
                      data-tone="bad"
                      onClick={() => setQuestion({ kind: 'remove', budget })}
                    >
                      Remove…
                    </button>
                  </>
                )
              : who.role !== 'viewer' && <span className="soft">{reasonFixed(budget)}</span>}
          </li>
        ))}
      </ul>
      {question?.kind === 'remove' && (
        <Confirm
          title={`Remove the budget of ${question.budget.scope} per ${question.budget.per}?`}
          verb="Remove"
          onClose={() => setQuestion(null)}
          perform={async () => {
            await api.deleteBudget({ id: question.budget.id });
            await done();
          }}
        >
          <p>Turns that wait for it continue, and nothing limits them any more.</p>
        </Confirm>
      )}
      {(question?.kind === 'new' || question?.kind === 'change') && (
        <BudgetForm
          budget={question.kind === 'new' ? null : question.budget}
          onClose={() => setQuestion(null)}
          onSaved={done}
        />
      )}
    </section>
  );
}

function BudgetLine({ budget }: { budget: Budget }): ReactElement {
  const nowMs = useNow();
  const { scope, per, limitUsd, spentUsd, reservedUsd, isReached, simulated, endsAt, action } = budget;
  const forecast = forecastUsd(budget, nowMs);
  return (
    <>
      <strong>
        <SafeText text={scope} />
      </strong>
      <span>per {per}</span>
      <progress
        value={Math.min(spentUsd, limitUsd)}
        max={limitUsd === 0 ? 1 : limitUsd}
        aria-label={`Spent of ${scope}`}
      />
      <span>
        {usdText(spentUsd)}
        {simulated && spentUsd > 0 && ' simulated'} of {usdText(limitUsd)}
        {reservedUsd > 0 && `, ${usdText(reservedUsd)} reserved`}
      </span>
      {isReached && (
        <span className="chip" data-tone="bad">
          reached, turns {action}
        </span>
      )}
      {endsAt !== null && (
        <span className="soft">
          window ends <Age at={endsAt} />
          {forecast !== null && `, then ${usdText(forecast)} at this rate`}
        </span>
      )}
    </>
  );
}

interface BudgetFormProps {
  /** Null: a new one. */
  budget: Budget | null;
  onClose: () => void;
  onSaved: () => Promise<void>;
}

function BudgetForm({ budget, onClose, onSaved }: BudgetFormProps): ReactElement {
  const [scope, setScope] = useState(budget?.scope ?? 'all');
  const [per, setPer] = useState<Budget['per']>(budget?.per ?? 'day');
  const [limit, setLimit] = useState(budget === null ? '' : String(budget.limitUsd));
  const [action, setAction] = useState<Budget['action']>(budget?.action ?? 'pause');
  async function save(): Promise<void> {
    if (limit.trim() === '') throw new Error('Enter a limit in US dollars.');
    const settings = { limitUsd: Number(limit), action };
    if (budget === null) await api.createBudget({ body: { scope, per, ...settings } });
    else await api.updateBudget({ id: budget.id, body: settings });
    await onSaved();
  }
  return (
    <Confirm
      title={budget === null ? 'New budget' : `Change the budget of ${budget.scope} per ${budget.per}`}
      verb={budget === null ? 'Add' : 'Save'}
      onClose={onClose}
      perform={save}
    >
      {budget === null && (
        <>
          <label className="field">
            {'What it limits: all, agent:<id>, session:<key pattern> or key:<name>'}
            <input value={scope} onChange={(event) => setScope(event.target.value)} />
          </label>
          <label className="field">
            Per
            <select value={per} onChange={(event) => setPer(event.target.value as Budget['per'])}>
              {PERIODS.map((period) => (
                <option key={period}>{period}</option>
              ))}
            </select>
          </label>
        </>
      )}
      <label className="field">
        Limit in US dollars
        <input type="number" min="0" step="any" value={limit} onChange={(event) => setLimit(event.target.value)} />
      </label>
      <label className="field">
        When it is reached, turns
        <select value={action} onChange={(event) => setAction(event.target.value as Budget['action'])}>
          {ACTIONS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
    </Confirm>
  );
}
