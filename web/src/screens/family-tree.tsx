// The runs of a family as a treegrid (ARIA Authoring Practices): one tab stop, arrows move, open
// and close. Right of a row are its cells, and what can be pressed in them. Only the rows that can
// be seen are in the document; below 640 px each is a card.
import { useState, type CSSProperties, type ReactElement } from 'react';
import type { FamilyRun } from '../api.ts';
import { treeRowsOf } from '../format/family.ts';
import { ActionCell, RunCell, RunFacts, type RunActions } from './family-cells.tsx';
import { useTreeKeys } from './family-keys.ts';

interface FamilyTreeProps {
  runs: readonly FamilyRun[];
  /** The session from which the screen was opened. */
  sessionKey: string;
  actions: RunActions | undefined;
}

const PLACE = 'table Runs';

const TITLES = ['Run', 'Status', 'Started', 'Own cost', 'With subagents', 'Result sent'] as const;
const WIDTHS = 'minmax(170px, 3fr) 92px 84px 104px 118px minmax(130px, 2fr)';

export function FamilyTree({ runs, sessionKey, actions }: FamilyTreeProps): ReactElement {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = treeRowsOf(runs, closed);
  const toggle = (runId: string, isOpen: boolean): void =>
    setClosed((before) => {
      const after = new Set(before);
      if (isOpen) after.delete(runId);
      else after.add(runId);
      return after;
    });
  const { body, at, virtual, isInside, onKeyDown, onFocus, onBlur } = useTreeKeys({ rows, place: PLACE, toggle });
  const height = virtual.getTotalSize();
  const columns = actions === undefined ? WIDTHS : `${WIDTHS} 164px`;
  const style = { '--columns': columns, '--rows-height': `${height + 1}px` } as CSSProperties;
  return (
    <div className="table family" role="treegrid" aria-label="Runs" aria-rowcount={rows.length + 1} style={style}>
      <div role="rowgroup">
        <div className="tr thead" role="row" aria-rowindex={1}>
          {[...TITLES, ...(actions === undefined ? [] : ['Actions'])].map((title) => (
            <span key={title} role="columnheader">
              {title}
            </span>
          ))}
        </div>
      </div>
      <div
        className="table-body"
        role="rowgroup"
        data-scroll-restoration-id={PLACE}
        ref={body}
        onKeyDown={onKeyDown}
        onBlur={onBlur}
      >
        <div className="table-sizer" role="presentation" style={{ height }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const row = rows[index]!;
            const { run, level, place, siblings, hasChildren, isOpen } = row;
            return (
              <div
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                className="tr"
                role="row"
                aria-rowindex={index + 2}
                aria-level={level}
                aria-posinset={place}
                aria-setsize={siblings}
                aria-expanded={hasChildren ? isOpen : undefined}
                tabIndex={index === at && !isInside ? 0 : -1}
                style={{ transform: `translateY(${start}px)`, '--level': level } as CSSProperties}
                onFocus={({ target, currentTarget }) => onFocus(run.runId, target !== currentTarget)}
              >
                <RunCell row={row} isHere={run.sessionKey === sessionKey} onToggle={() => toggle(run.runId, !isOpen)} />
                <RunFacts run={run} />
                {actions !== undefined && <ActionCell run={run} actions={actions} />}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
