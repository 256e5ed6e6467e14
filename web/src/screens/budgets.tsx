// The budgets: their spending and reservations, the expected spending of the window, and forms for
// those that can be changed here.
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Budget } from '../api.ts';
import { usdText } from '../format/amounts.ts';
import { forecastUsd } from '../format/spend.ts';
import { useCanAct } from '../me.ts';
import { Age, Chip } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { ConfirmButton, DialogButton } from '../parts/dialog-button.tsx';
import { Field, Select } from '../parts/fields.tsx';
import { Fault } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useNow } from '../settings.tsx';

const PERIODS = ['hour', 'day', 'month', 'total'] as const;
const ACTIONS = { pause: 'wait', fail: 'fail' } as const;

export const budgetsQuery = queryOptions({ queryKey: ['budgets'], queryFn: () => api.listBudgets() });

/** Why a budget cannot be changed here, by who has made it; null: it can. */
const FIXED = {
  config: 'change it in the configuration file',
  batch: 'change the cap of the batch',
  api: null,
} as const;

export function Budgets(): ReactElement {
  const canAct = useCanAct();
  const queries = useQueryClient();
  const list = useQuery(budgetsQuery);
  const refresh = (): Promise<void> => queries.invalidateQueries({ queryKey: ['budgets'] });
  const form = (budget: Budget | null) => (close: () => void) => (
    <BudgetForm {...{ budget }} onClose={close} onSaved={refresh} />
  );
  return (
    <Panel title="Budgets" buttons={canAct && <DialogButton dialog={form(null)}>Add a budget…</DialogButton>}>
      <Fault query={list} />
      {list.data?.items.length === 0 && <p className="soft">There is no budget yet: nothing limits what is spent.</p>}
      <ul className="plain-list">
        {list.data?.items.map((budget) => (
          <li key={budget.id} className="row">
            <BudgetLine budget={budget} />
            {canAct && FIXED[budget.origin] !== null && <span className="soft">{FIXED[budget.origin]}</span>}
            {canAct && FIXED[budget.origin] === null && (
              <>
                <DialogButton dialog={form(budget)}>Change…</DialogButton>
                <ConfirmButton
                  name="Remove…"
                  buttonTone="bad"
                  title={`Remove the budget of ${budget.scope} per ${budget.per}?`}
                  verb="Remove the budget"
                  perform={() => api.deleteBudget({ id: budget.id }).then(refresh)}
                >
                  <p>Turns that wait for it continue, and it limits nothing any more.</p>
                </ConfirmButton>
              </>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

export function BudgetLine({ budget }: { budget: Budget }): ReactElement {
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
      {isReached && <Chip tone="bad">reached: turns {ACTIONS[action]}</Chip>}
      {endsAt !== null && (
        <span className="soft">
          ends <Age at={endsAt} />
          {forecast !== null && `, with ${usdText(forecast)} spent at this rate`}
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
      title={budget === null ? 'Add a budget' : `Change the budget of ${budget.scope} per ${budget.per}`}
      verb={budget === null ? 'Add the budget' : 'Save the budget'}
      tone="main"
      onClose={onClose}
      perform={save}
    >
      {budget === null && (
        <>
          <Field
            name="What it limits: all, agent:<id>, session:<key pattern> or key:<name>"
            value={scope}
            onChange={setScope}
          />
          <Select name="Per" value={per} options={PERIODS} onChange={setPer} />
        </>
      )}
      <Field name="Limit in US dollars" type="number" min="0" step="any" value={limit} onChange={setLimit} />
      <Select name="When it is reached, turns" value={action} options={ACTIONS} onChange={setAction} />
    </Confirm>
  );
}
