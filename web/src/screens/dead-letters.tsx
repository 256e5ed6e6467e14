// Failed work, grouped by its error: redriven with a canary, or discarded with a reason.
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import { api, type DeadLetterGroup } from '../api.ts';
import { countText, namedCountText } from '../format/amounts.ts';
import { capitalised } from '../format/title.ts';
import { Age, Chip, Empty } from '../parts/bits.tsx';
import { Progress } from '../parts/bulk-progress.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { KeyLink, TurnLink } from '../parts/links.tsx';
import { Fault } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Sparkline, StepTable } from '../parts/time-chart.tsx';
import { useCanAct } from '../me.ts';
import { Filters, TextFilter } from './filters.tsx';

const route = getRouteApi('/app/dead-letters');

const GROUPS_MAX = 200;
const LETTERS_SHOWN = 5;
/** Redriven letters call the model again: slowly enough to see the results. */
const PER_SECOND = 5;

interface Asked {
  verb: 'redrive' | 'discard';
  group: DeadLetterGroup;
  /** One letter of the group; null: all. */
  letterId: string | null;
}

type Kind = NonNullable<Parameters<typeof api.redriveDeadLetters>[0]['body']['kind']>;

export function DeadLetters(): ReactElement {
  const { code } = route.useSearch();
  const navigate = useNavigate({ from: '/dead-letters' });
  const queries = useQueryClient();
  const [asked, setAsked] = useState<Asked | null>(null);
  const [started, setStarted] = useState<string | null>(null);
  const list = useQuery({
    queryKey: ['dead-letters', code],
    queryFn: () => api.listDeadLetters({ limit: GROUPS_MAX, code }),
    placeholderData: keepPreviousData,
  });
  const groups = list.data?.items ?? [];

  async function decide(chosen: Asked, reason: string | undefined): Promise<void> {
    const { verb, group, letterId } = chosen;
    const body = {
      ...(letterId === null ? { kind: group.kind as Kind, code: group.code } : { ids: [letterId] }),
      ...(reason === undefined ? {} : { reason }),
      ...(verb === 'redrive' ? { canary: countOf(chosen) > 1, perSecond: PER_SECOND } : { perSecond: 1_000 }),
    };
    const answer = await (verb === 'redrive' ? api.redriveDeadLetters({ body }) : api.discardDeadLetters({ body }));
    if ('id' in answer) setStarted(answer.id);
    void queries.invalidateQueries({ queryKey: ['dead-letters'] });
  }

  return (
    <>
      <h1>Dead letters</h1>
      <Filters>
        <TextFilter
          name="Error code"
          value={code}
          onChange={(next) => void navigate({ search: next === undefined ? {} : { code: next } })}
        />
      </Filters>
      {started !== null && <Progress id={started} />}
      <Fault query={list} />
      {list.isSuccess && groups.length === 0 && <NoGroups code={code} />}
      {groups.map((group) => (
        <Group
          key={`${group.kind} ${group.code}`}
          group={group}
          onAsk={(verb, letterId) => setAsked({ verb, group, letterId })}
        />
      ))}
      {asked !== null && (
        <Confirm
          title={`${capitalised(asked.verb)} ${countText(countOf(asked))} × ${asked.group.code}?`}
          verb={`${capitalised(asked.verb)} ${namedCountText(countOf(asked), 'dead letter')}`}
          asksReason
          onClose={() => setAsked(null)}
          perform={(reason) => decide(asked, reason)}
        >
          <p>
            {asked.verb === 'discard'
              ? `Nothing more is done about ${countOf(asked) === 1 ? 'it' : 'them'}; what failed stays visible in its turn or delivery.`
              : countOf(asked) > 1
                ? `One goes first; the others follow, ${PER_SECOND} per second, when it has ended well.`
                : 'It is tried again.'}
          </p>
        </Confirm>
      )}
    </>
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

function countOf({ group, letterId }: Asked): number {
  return letterId === null ? group.count : 1;
}

interface GroupProps {
  group: DeadLetterGroup;
  onAsk: (verb: Asked['verb'], letterId: string | null) => void;
}

function Group({ group, onAsk }: GroupProps): ReactElement {
  const canAct = useCanAct();
  return (
    <section className="panel" aria-label={group.code}>
      <div className="row">
        <h2>
          {countText(group.count)} ×{' '}
          <span className="mono">
            <SafeText text={group.code} />
          </span>
        </h2>
        <Chip>{group.kind}</Chip>
        <span className="soft">
          last <Age at={group.lastAt} />, first <Age at={group.firstAt} />
        </span>
        {canAct && (
          <>
            <Button tone="main" onClick={() => onAsk('redrive', null)}>
              Redrive…
            </Button>
            <Button tone="bad" onClick={() => onAsk('discard', null)}>
              Discard…
            </Button>
          </>
        )}
      </div>
      {group.nextStep !== null && <p>{group.nextStep}</p>}
      <Trend group={group} />
      <ul>
        {group.letters.slice(0, LETTERS_SHOWN).map((letter) => (
          <li key={letter.id}>
            {letter.turnId !== null && <TurnLink id={letter.turnId} />}{' '}
            {letter.sessionKey !== null && <KeyLink sessionKey={letter.sessionKey} />} <SafeText text={letter.reason} />
            {canAct && group.count > 1 && (
              <span className="row">
                {(['redrive', 'discard'] as const).map((verb) => (
                  <Button key={verb} onClick={() => onAsk(verb, letter.id)}>
                    {capitalised(verb)} this one…{' '}
                    <span className="hidden-visually">{letter.turnId?.slice(-6) ?? letter.id.slice(-6)}</span>
                  </Button>
                ))}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
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
    <>
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
    </>
  );
}
