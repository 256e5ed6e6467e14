// Failed work, grouped by its error and by what its messages have in common: redriven with a canary,
// or discarded with a reason; a group, the selected letters, or one.
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { lazy, useState, type ReactElement } from 'react';
import { api, type DeadLetterGroup } from '../api.ts';
import { countText, namedCountText } from '../format/amounts.ts';
import { clustersOf } from '../format/fingerprint.ts';
import { capitalised } from '../format/title.ts';
import { Age, Chip, Empty } from '../parts/bits.tsx';
import { Progress } from '../parts/bulk-progress.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { DeliveryDetails } from '../parts/delivery-details.tsx';
import { Fault } from '../parts/loading.tsx';
import { RowMenu } from '../parts/row-menu.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { SessionLink, Words } from '../parts/short-key.tsx';
import { useFirst } from '../parts/show-more.tsx';
import { Beside } from '../parts/side-panel.tsx';
import { Sparkline, StepTable } from '../parts/time-chart.tsx';
import { useCanActOnMany } from '../me.ts';
import { Filters, FoundChoice } from './filters.tsx';

const TurnPanel = lazy(async () => ({ default: (await import('./turn-panel.tsx')).TurnPanel }));

const route = getRouteApi('/app/dead-letters');

const GROUPS_MAX = 200;
/** So many groups are open at first. */
const OPEN_AT_FIRST = 3;
/** Of those with one message, before more are asked for. */
const LETTERS_SHOWN = 5;
/** Redriven letters call the model again: slowly enough to see the results. */
const PER_SECOND = 5;

type Letter = DeadLetterGroup['letters'][number];

interface Asked {
  verb: 'redrive' | 'discard';
  /** What is decided about, in words. */
  name: string;
  count: number;
  /** All letters of a kind and a code, or some. */
  of: Pick<DeadLetterGroup, 'kind' | 'code'> | { ids: string[] };
}

type Body = Parameters<typeof api.redriveDeadLetters>[0]['body'];

export function DeadLetters(): ReactElement {
  const { code, open } = route.useSearch();
  const navigate = useNavigate({ from: '/dead-letters' });
  const queries = useQueryClient();
  const [asked, setAsked] = useState<Asked | null>(null);
  const [started, setStarted] = useState<string | null>(null);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const list = useQuery({
    queryKey: ['dead-letters', code],
    queryFn: () => api.listDeadLetters({ limit: GROUPS_MAX, code }),
    placeholderData: keepPreviousData,
  });
  const groups = list.data?.items.toSorted((one, other) => other.lastAt.localeCompare(one.lastAt)) ?? [];
  const opened = groups.flatMap(({ letters }) => letters).find(({ id }) => id === open);
  const show = (open?: string): void =>
    void navigate({ search: ({ code }) => ({ ...(code && { code }), ...(open && { open }) }) });

  async function decide(chosen: Asked, reason: string | undefined): Promise<void> {
    const answer = await send(chosen, reason);
    if ('id' in answer) setStarted(answer.id);
    setSelected(new Set());
    void queries.invalidateQueries({ queryKey: ['dead-letters'] });
  }

  return (
    <Beside opened={opened && <Opened letter={opened} close={() => show()} />} onClose={() => show()}>
      <h1>Dead letters</h1>
      <Filters>
        <FoundChoice
          name="Error code"
          of="codes"
          value={code}
          onChange={(next) => void navigate({ search: next === undefined ? {} : { code: next } })}
        />
      </Filters>
      {started !== null && <Progress id={started} />}
      <Fault query={list} />
      {list.isSuccess && groups.length === 0 && <NoGroups code={code} />}
      {groups.map((group, at) => (
        <Group
          key={`${group.kind} ${group.code}`}
          {...{ group, selected, setSelected, show }}
          openedId={open}
          isOpenAtFirst={at < OPEN_AT_FIRST}
          onAsk={setAsked}
        />
      ))}
      {selected.size > 0 && (
        <Selection
          count={selected.size}
          onAsk={(verb) =>
            setAsked({ verb, name: 'selected letters', count: selected.size, of: { ids: [...selected] } })
          }
          onClear={() => setSelected(new Set())}
        />
      )}
      {asked !== null && <Question asked={asked} onClose={() => setAsked(null)} decide={decide} />}
    </Beside>
  );
}

/** Sends a decision: several letters begin with one. */
function send({ verb, of, count }: Asked, reason: string | undefined) {
  const body = {
    ...of,
    ...(reason === undefined ? {} : { reason }),
    ...(verb === 'redrive' ? { canary: count > 1, perSecond: PER_SECOND } : { perSecond: 1_000 }),
  } as Body;
  return verb === 'redrive' ? api.redriveDeadLetters({ body }) : api.discardDeadLetters({ body });
}

/** What can be done to the selected letters. */
function Selection(props: { count: number; onAsk: (verb: Asked['verb']) => void; onClear: () => void }): ReactElement {
  const { count, onAsk, onClear } = props;
  return (
    <div className="row selection" role="group" aria-label="Selected letters">
      <strong>{countText(count)} selected</strong>
      {(['redrive', 'discard'] as const).map((verb) => (
        <Button key={verb} onClick={() => onAsk(verb)}>
          {capitalised(verb)} selected…
        </Button>
      ))}
      <Button onClick={onClear}>Clear</Button>
    </div>
  );
}

/** The delivery or the turn of a letter. */
function Opened({ letter: { id, deliveryId, turnId }, close }: { letter: Letter; close: () => void }): ReactElement {
  if (deliveryId !== null) return <DeliveryDetails key={id} id={deliveryId} onClose={close} />;
  return turnId === null ? <Empty>It has no turn any more.</Empty> : <TurnPanel key={id} id={turnId} onClose={close} />;
}

function Question(props: {
  asked: Asked;
  onClose: () => void;
  decide: (asked: Asked, reason: string | undefined) => Promise<void>;
}): ReactElement {
  const { asked, onClose, decide } = props;
  const { verb, name, count } = asked;
  return (
    <Confirm
      title={`${capitalised(verb)} ${countText(count)} × ${name}?`}
      verb={`${capitalised(verb)} ${namedCountText(count, 'dead letter')}`}
      {...(verb === 'redrive' ? { tone: 'main' as const } : {})}
      asksReason
      onClose={onClose}
      perform={(reason) => decide(asked, reason)}
    >
      <p>
        {verb === 'discard'
          ? `Nothing more is done about ${count === 1 ? 'it' : 'them'}; what failed stays visible in its turn or delivery.`
          : count > 1
            ? `One goes first; the others follow, ${PER_SECOND} per second, when it has ended well.`
            : 'It is tried again.'}
      </p>
    </Confirm>
  );
}

function NoGroups({ code }: { code: string | undefined }): ReactElement {
  return (
    <Empty>
      {code === undefined
        ? 'There are none: everything that was accepted has been finished, or waits.'
        : 'There are none with this code.'}
    </Empty>
  );
}

interface GroupProps {
  group: DeadLetterGroup;
  isOpenAtFirst: boolean;
  openedId: string | undefined;
  selected: ReadonlySet<string>;
  setSelected: (change: (before: ReadonlySet<string>) => ReadonlySet<string>) => void;
  show: (id: string) => void;
  onAsk: (asked: Asked) => void;
}

function Group(props: GroupProps): ReactElement {
  const { group, isOpenAtFirst, onAsk } = props;
  const { kind, code, count, letters } = group;
  const canAct = useCanActOnMany();
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const ask = (verb: Asked['verb']): void => onAsk({ verb, name: code, count, of: { kind, code } });
  return (
    <section className="panel" aria-label={code}>
      <div className="group-head">
        <div>
          <div className="row">
            <h2>
              {countText(count)} ×{' '}
              <span className="mono">
                <SafeText text={code} />
              </span>
            </h2>
            <Chip>{kind}</Chip>
            <span className="soft">
              last <Age at={group.lastAt} />, first <Age at={group.firstAt} />
            </span>
          </div>
          {group.nextStep !== null && <p className="soft">{group.nextStep}</p>}
        </div>
        <Trend group={group} />
        {canAct && (
          <span className="row">
            <Button tone="main" onClick={() => ask('redrive')}>
              Redrive…
            </Button>
            <RowMenu of={code} actions={[{ name: 'Discard…', tone: 'bad', onChoose: () => ask('discard') }]} />
          </span>
        )}
      </div>
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary className="soft">
          {count > letters.length ? `The newest ${countText(letters.length)}` : namedCountText(count, 'letter')}
        </summary>
        {isOpen &&
          clustersOf(letters, ({ reason }) => reason).map((cluster) => (
            <Cluster key={cluster[0]!.id} {...props} cluster={cluster} />
          ))}
      </details>
    </section>
  );
}

/** Letters whose messages differ in ids and numbers only. */
function Cluster(props: GroupProps & { cluster: Letter[] }): ReactElement {
  const { cluster, selected, setSelected } = props;
  const canAct = useCanActOnMany();
  const { first, more } = useFirst(cluster, LETTERS_SHOWN);
  const ids = cluster.map(({ id }) => id);
  const times = cluster.map(({ createdAt }) => createdAt).toSorted();
  const isAll = ids.every((id) => selected.has(id));
  return (
    <div className="cluster">
      <p className="row">
        {canAct && (
          <input
            type="checkbox"
            aria-label={`Select all ${ids.length} with this message`}
            checked={isAll}
            onChange={() =>
              setSelected((before) => (isAll ? before.difference(new Set(ids)) : before.union(new Set(ids))))
            }
          />
        )}
        <strong>
          <SafeText text={cluster[0]!.reason} />
        </strong>
        {cluster.length > 1 && (
          <>
            <Chip>{countText(cluster.length)}</Chip>
            <span className="soft">
              last <Age at={times.at(-1)!} />, first <Age at={times[0]!} />
            </span>
          </>
        )}
      </p>
      <ul>
        {first.map((letter) => (
          <LetterRow key={letter.id} {...props} letter={letter} />
        ))}
      </ul>
      {more}
    </div>
  );
}

function LetterRow(props: GroupProps & { letter: Letter }): ReactElement {
  const { letter, selected, setSelected, openedId, show, onAsk } = props;
  const { id, title, turnId, sessionKey, sessionTitle, code, createdAt } = letter;
  const canAct = useCanActOnMany();
  const end = (turnId ?? id).slice(-6);
  return (
    <li className="letter" aria-current={openedId === id || undefined}>
      {canAct && (
        <input
          type="checkbox"
          aria-label={`Select ${end}`}
          checked={selected.has(id)}
          onChange={() => setSelected((before) => before.symmetricDifference(new Set([id])))}
        />
      )}
      <button type="button" className="letter-words" onClick={() => show(id)}>
        <Words text={title} />
      </button>
      {sessionKey === null ? <span /> : <SessionLink sessionKey={sessionKey} title={sessionTitle} />}
      <span className="soft nowrap">
        <Age at={createdAt} />
      </span>
      {canAct && (
        <RowMenu
          of={end}
          actions={(['redrive', 'discard'] as const).map((verb) => ({
            name: `${capitalised(verb)} this one…`,
            tone: verb === 'discard' ? 'bad' : undefined,
            onChoose: () => onAsk({ verb, name: code, count: 1, of: { ids: [id] } }),
          }))}
        />
      )}
    </li>
  );
}

const HOUR_MS = 3_600_000;

/** How many letters of the group the last 24 hours have made. */
function Trend({ group: { perHour } }: { group: DeadLetterGroup }): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const { startsAt, counts } = perHour;
  const recent = counts.reduce((sum, count) => sum + count, 0);
  const times = counts.map((_, hour) => new Date(Date.parse(startsAt) + hour * HOUR_MS).toISOString());
  return (
    <div className="trend">
      <Sparkline name="Letters per hour" span="last 24 hours" values={counts} text={countText} tone="bad" />
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary className="soft">
          {countText(recent)} in the last 24 hours, {countText(counts.at(-1) ?? 0)} in this hour
        </summary>
        {isOpen && (
          <StepTable
            title="Letters per hour"
            times={times}
            panes={[{ series: [{ name: 'Letters', values: counts }], text: countText }]}
          />
        )}
      </details>
    </div>
  );
}
