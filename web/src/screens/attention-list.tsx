// Problems that need an operator, each with what to do, and what an operator has decided about it.
import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { Fragment, useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { useAttention } from '../attention.ts';
import { me } from '../me.ts';
import { Age, Chip, Time } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Loading } from '../parts/loading.tsx';
import { PathLink } from '../parts/path-link.tsx';
import { Problem } from '../parts/problem.tsx';
import { RowMenu } from '../parts/row-menu.tsx';
import { SafeText } from '../parts/safe-text.tsx';

/** The first problems say what to do, the others when it is asked for. */
const EXPLAINED = 4;

type Entry = NonNullable<ReturnType<typeof useAttention>['data']>['items'][number];

export function AttentionList(): ReactElement {
  const list = useAttention();
  const { data: who } = useSuspenseQuery(me);
  const [asked, setAsked] = useState<{ entry: Entry; to: 'Acknowledge' | 'Snooze' } | null>(null);
  const queries = useQueryClient();
  const [isWhole, setWhole] = useState(false);
  const reread = (): Promise<void> => queries.invalidateQueries({ queryKey: ['stats'] });
  const { data } = list;
  if (data === undefined) return list.isError ? <Problem error={list.error} /> : <Loading />;
  if (data.items.length === 0) {
    return (
      <p>
        <span className="chip" data-tone="good">
          ok
        </span>{' '}
        All is well: nothing needs you.
      </p>
    );
  }
  return (
    <>
      <ul className="attention-list">
        {data.items.map((item, at) => (
          <li key={item.id} className={item.state === 'open' ? undefined : 'soft'}>
            <Chip tone={item.mark !== null ? undefined : item.severity === 'error' ? 'bad' : 'warn'} data-dot>
              {item.mark === null ? item.severity : item.state}
            </Chip>
            <div className="grow">
              <PathLink href={item.href}>
                <SafeText text={item.text} />
              </PathLink>
              {(at < EXPLAINED || isWhole || item.mark !== null) && (
                <p className="soft">{item.mark === null ? <Advice entry={item} /> : <MarkText mark={item.mark} />}</p>
              )}
            </div>
            {item.since !== null && (
              <span className="soft nowrap" title="It began">
                <Age at={item.since} />
              </span>
            )}
            {who.role !== 'viewer' && (
              <Actions entry={item} onAsk={(to) => setAsked({ entry: item, to })} onDone={reread} />
            )}
          </li>
        ))}
      </ul>
      {data.items.length > EXPLAINED && (
        <Button aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
          What to do about each
        </Button>
      )}
      {asked !== null && <Decision {...asked} onClose={() => setAsked(null)} onDone={reread} />}
    </>
  );
}

/** What to do next: the screens where it is done, and the commands of what no screen does. */
function Advice({ entry: { advice, actions, href: shownAt } }: { entry: Entry }): ReactElement {
  return (
    <>
      <SafeText text={advice} />
      {actions.map(({ text, href, command }) =>
        href === null ? (
          <Fragment key={text}>
            {' '}
            {text}: <code>{command}</code>
          </Fragment>
        ) : (
          href !== shownAt && (
            <Fragment key={text}>
              {' '}
              <PathLink href={href}>{text}</PathLink>
            </Fragment>
          )
        ),
      )}
    </>
  );
}

/** Decides about an open problem, or opens one again. */
function Actions({
  entry: { id, text, mark },
  onAsk,
  onDone,
}: {
  entry: Entry;
  onAsk: (to: 'Acknowledge' | 'Snooze') => void;
  onDone: () => Promise<void>;
}): ReactElement {
  const again = (): void => void api.snoozeAttention({ attentionId: id, body: { seconds: 0 } }).then(onDone, onDone);
  const actions =
    mark === null
      ? (['Acknowledge', 'Snooze'] as const).map((to) => ({ name: `${to}…`, onChoose: () => onAsk(to) }))
      : [{ name: 'Show again', onChoose: again }];
  return <RowMenu of={text} actions={actions} />;
}

/** Who has decided what, and why. */
function MarkText({ mark: { by, at, until, reason } }: { mark: NonNullable<Entry['mark']> }): ReactElement {
  return (
    <>
      by <SafeText text={by} />, <Age at={at} />
      {until !== null && (
        <>
          , until <Time at={until} />
        </>
      )}
      {reason !== null && (
        <>
          : <SafeText text={reason} />
        </>
      )}
    </>
  );
}

const HOURS = [1, 4, 24, 168] as const;

/** Asks why, and for how long. */
function Decision({
  entry: { id, text, count },
  to,
  onClose,
  onDone,
}: {
  entry: Entry;
  to: 'Acknowledge' | 'Snooze';
  onClose: () => void;
  onDone: () => Promise<void>;
}): ReactElement {
  const [hours, setHours] = useState<number>(HOURS[0]);
  return (
    <Confirm
      title={`${to} this problem?`}
      verb={to}
      tone="main"
      asksReason
      onClose={onClose}
      perform={async (reason) => {
        const body = reason === undefined ? {} : { reason };
        await (to === 'Acknowledge'
          ? api.acknowledgeAttention({ attentionId: id, body: { ...body, count } })
          : api.snoozeAttention({ attentionId: id, body: { ...body, seconds: hours * 3_600 } }));
        await onDone();
      }}
    >
      <p>
        <SafeText text={text} />
      </p>
      {to === 'Acknowledge' ? (
        <p>Until it ends, it is not counted and stands last.</p>
      ) : (
        <label className="field">
          Hours in which it is not counted and stands last
          <select value={hours} onChange={({ target }) => setHours(Number(target.value))}>
            {HOURS.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      )}
    </Confirm>
  );
}
