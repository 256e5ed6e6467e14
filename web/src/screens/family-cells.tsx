// The cells of a run in the tree of its family. What can be pressed, and each cell that has nothing
// to press, is reached with the arrows (`data-stop`), not with Tab.
import { Link } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import type { FamilyRun } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { ANNOUNCED, nameOf, type TreeRow } from '../format/family.ts';
import { Age, Chip, Cost, Status } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { SafeText } from '../parts/safe-text.tsx';

/** The actions on a run; absent for a viewer. */
export interface RunActions {
  steer: (run: FamilyRun) => void;
  stop: (run: FamilyRun) => void;
  /** How many runs a stop would end. */
  runningOf: (run: FamilyRun) => number;
}

export function RunCell({
  row,
  isHere,
  onToggle,
}: {
  row: TreeRow;
  isHere: boolean;
  onToggle: () => void;
}): ReactElement {
  const { run, level, parent, hasChildren, isOpen } = row;
  return (
    <span role="gridcell" className="run">
      <span className="twist" aria-hidden="true" onClick={hasChildren ? onToggle : undefined}>
        {hasChildren ? (isOpen ? '▾' : '▸') : ''}
      </span>
      <span>
        <Link to="/sessions/$key" params={{ key: run.sessionKey }} tabIndex={-1} data-stop="session">
          <SafeText text={nameOf(run)} />
        </Link>{' '}
        {isHere && <Chip>this session</Chip>}
        <small className="soft">
          <span className="in-words">
            depth {level}, spawned by {parent === null ? 'the root' : <SafeText text={nameOf(parent)} />};{' '}
          </span>
          {run.turnId === null ? (
            'no turn yet'
          ) : (
            <Link to="/turns/$id" params={{ id: run.turnId }} tabIndex={-1} data-stop="turn">
              turn {run.turnId.slice(-6)}
            </Link>
          )}
        </small>
      </span>
    </span>
  );
}

export function RunFacts({ run }: { run: FamilyRun }): ReactElement {
  const { own, subtree } = run;
  return (
    <>
      <TextCell title="Status">
        <Status status={run.status} />
      </TextCell>
      <TextCell title="Started">
        <Age at={run.createdAt} />
      </TextCell>
      <TextCell title="Own cost">
        <Used used={own} />
      </TextCell>
      <TextCell title="With subagents">
        {subtree.runs === 1 ? (
          <span className="soft">no subagents</span>
        ) : (
          <Used used={subtree} note={`, ${countText(subtree.runs)} runs`} />
        )}
      </TextCell>
      <AnnouncedCell announcement={run.announcement} />
    </>
  );
}

/** A cell that has nothing to press. */
function TextCell({ title, children }: { title: string; children: ReactNode }): ReactElement {
  return (
    <span role="gridcell" data-label={title} tabIndex={-1} data-stop={title}>
      {children}
    </span>
  );
}

function Used({ used, note }: { used: FamilyRun['own']; note?: string }): ReactElement {
  return (
    <>
      <Cost of={used} isInColumn />
      <small className="soft">
        {countText(used.tokens.input + used.tokens.output)} tokens{note}
      </small>
    </>
  );
}

function AnnouncedCell({ announcement }: { announcement: FamilyRun['announcement'] }): ReactElement {
  if (announcement === null) return <TextCell title="Result sent">not yet</TextCell>;
  const { how, status, sessionKey, turnId } = announcement;
  if (sessionKey === null) {
    return (
      <span role="gridcell" data-label="Result sent">
        {ANNOUNCED[how]}
        <small>
          <Link to="/dead-letters" tabIndex={-1} data-stop="told">
            dead letters
          </Link>
        </small>
      </span>
    );
  }
  return (
    <span role="gridcell" data-label="Result sent">
      {turnId === null ? (
        <span>
          {ANNOUNCED[how]}
          {how === 'notSent' && ` (${status})`}
        </span>
      ) : (
        <Link to="/turns/$id" params={{ id: turnId }} tabIndex={-1} data-stop="told-turn">
          {ANNOUNCED[how]}
        </Link>
      )}
      <small className="soft">
        to{' '}
        <Link to="/sessions/$key" params={{ key: sessionKey }} tabIndex={-1} data-stop="told">
          <SafeText text={sessionKey} />
        </Link>
      </small>
    </span>
  );
}

export function ActionCell({ run, actions }: { run: FamilyRun; actions: RunActions }): ReactElement {
  const running = actions.runningOf(run);
  if (running === 0) return <TextCell title="Actions">{''}</TextCell>;
  const name = <span className="hidden-visually">{nameOf(run)}</span>;
  return (
    <span role="gridcell" className="actions">
      {run.status === 'running' && (
        <Button tabIndex={-1} data-stop="steer" onClick={() => actions.steer(run)}>
          Steer… {name}
        </Button>
      )}
      <Button tone="bad" tabIndex={-1} data-stop="stop" onClick={() => actions.stop(run)}>
        Stop… {name}
      </Button>
    </span>
  );
}
