// What can be done to the selected rows of a list, or, from a menu, to all that its filters find:
// counted first, then submitted as one bulk action whose progress is shown here.
import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { Button } from './button.tsx';
import { api, type BulkAction } from '../api.ts';
import { countText, namedCountText } from '../format/amounts.ts';
import { capitalised } from '../format/title.ts';
import { useCanActOnMany } from '../me.ts';
import { Progress } from './bulk-progress.tsx';
import { Confirm } from './confirm.tsx';
import { Problem } from './problem.tsx';
import { RowMenu, type RowAction } from './row-menu.tsx';

interface BulkBarProps {
  target: BulkAction['target'];
  actions: readonly BulkAction['action'][];
  selected: ReadonlySet<string>;
  /** The current contents of the list; null: no action finds the same. */
  filter: object | null;
  onDone: () => void;
}

interface Asked {
  action: BulkAction['action'];
  /** Null: everything that the filter finds. */
  ids: string[] | null;
  total: number;
}

type BulkBody = Parameters<typeof api.createBulkAction>[0]['body'];

/** One of what an action works on. */
const ONE: Readonly<Record<BulkAction['target'], string>> = {
  messages: 'message',
  turns: 'turn',
  deliveries: 'delivery',
  'dead-letters': 'dead letter',
};

export function BulkBar({ target, actions, selected, filter, onDone }: BulkBarProps): ReactElement | null {
  const canAct = useCanActOnMany();
  const queries = useQueryClient();
  const [asked, setAsked] = useState<Asked | null>(null);
  const [submitted, setSubmitted] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  if (!canAct) return null;

  const bodyOf = ({ action, ids }: Pick<Asked, 'action' | 'ids'>): BulkBody =>
    // The filters of the list are those of the action.
    ({ action, target, ...(ids === null ? { filter } : { ids }) }) as BulkBody;

  async function ask(action: BulkAction['action'], ids: string[] | null): Promise<void> {
    setError(null);
    try {
      const counted =
        ids === null ? await api.createBulkAction({ body: { ...bodyOf({ action, ids }), dryRun: true } }) : null;
      setAsked({ action, ids, total: counted !== null && 'ids' in counted ? counted.total : (ids?.length ?? 0) });
    } catch (cause) {
      setError(cause);
    }
  }

  const onAll = (action: BulkAction['action']): RowAction => ({
    name: `${capitalised(action)} all that match…`,
    onChoose: () => void ask(action, null),
  });
  const askedText = asked === null ? '' : `${capitalised(asked.action)} ${namedCountText(asked.total, ONE[target])}`;
  const isIdle = selected.size === 0 && error === null && submitted === null && asked === null;
  return (
    <div className="row" role="group" aria-label="Bulk actions">
      {selected.size > 0 && (
        <span className="row selection">
          <strong>{countText(selected.size)} selected</strong>
          {actions.map((action) => (
            <Button key={action} onClick={() => void ask(action, [...selected])}>
              {capitalised(action)} {countText(selected.size)} selected…
            </Button>
          ))}
          <Button onClick={onDone}>Clear</Button>
        </span>
      )}
      {isIdle && filter !== null && <RowMenu actions={actions.map(onAll)} />}
      {error !== null && <Problem error={error} />}
      {submitted !== null && <Progress id={submitted} />}
      {asked !== null && (
        <Confirm
          title={`${askedText}?`}
          verb={askedText}
          asksReason
          onClose={() => setAsked(null)}
          perform={async (reason) => {
            const body = { ...bodyOf(asked), ...(reason === undefined ? {} : { reason }) };
            const action = await api.createBulkAction({ body });
            if ('id' in action) setSubmitted(action.id);
            onDone();
            void queries.invalidateQueries();
          }}
        >
          <p>
            {asked.ids === null
              ? 'Everything that the filters find now. What matches later does not join.'
              : 'The rows that you have selected.'}
          </p>
        </Confirm>
      )}
    </div>
  );
}
