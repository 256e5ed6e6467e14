// The focus within the tree of a family, and what keys do there.
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState, type KeyboardEvent } from 'react';
import type { TreeRow } from '../format/family.ts';
import { useSeenRows } from '../parts/data-table.tsx';
import { useSettings } from '../settings.tsx';

const ROW_PX = 58;
const PAGE_ROWS = 8;

interface TreeKeysOptions {
  rows: readonly TreeRow[];
  /** The name under which the scroll position is restored. */
  place: string;
  toggle: (runId: string, isOpen: boolean) => void;
}

/** The focus within the tree, and what keys do. */
export function useTreeKeys({ rows, place, toggle }: TreeKeysOptions) {
  const body = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState<string | null>(null);
  /** True: something within the row has the focus, not the row. */
  const [isInside, setInside] = useState(false);
  const { hasShortcuts } = useSettings();
  const navigate = useNavigate();
  const idOf = ({ run }: TreeRow): string => run.runId;
  const virtual = useSeenRows({ body, place, rows, idOf, rowPx: ROW_PX });
  const at = Math.max(
    0,
    rows.findIndex((row) => idOf(row) === current),
  );

  /**
   * Moves to a row, and there to the same place if it has it. A row that is not in the document yet
   * has the focus a frame later.
   */
  function moveTo(index: number, stop: string | undefined): void {
    const to = Math.max(0, Math.min(rows.length - 1, index));
    const focus = (): boolean => {
      const row = body.current?.querySelector<HTMLElement>(`[data-index="${to}"]`);
      (row?.querySelector<HTMLElement>(`[data-stop="${stop}"]`) ?? row)?.focus();
      return row != null;
    };
    setCurrent(idOf(rows[to]!));
    virtual.scrollToIndex(to);
    if (!focus()) requestAnimationFrame(focus);
  }

  function onKeyDown(event: KeyboardEvent): void {
    const { key, ctrlKey, metaKey, altKey } = event;
    const row = rows[at];
    const element = body.current?.querySelector<HTMLElement>(`[data-index="${at}"]`);
    if (ctrlKey || metaKey || altKey || row === undefined || element == null) return;
    if (key.length === 1 && !hasShortcuts) return;
    const stops = [element, ...element.querySelectorAll<HTMLElement>('[data-stop]')];
    const inside = Math.max(
      0,
      stops.findIndex((one) => one === document.activeElement),
    );
    const move = moveOf(key, { row, inside, stops: stops.length });
    if (move === null) return;
    event.preventDefault();
    if (move.kind === 'rows') moveTo(at + move.by, stops[inside]?.dataset['stop']);
    else if (move.kind === 'inside') stops[move.to]?.focus();
    else if (move.kind === 'toggle') toggle(row.run.runId, !row.isOpen);
    else if (move.kind === 'parent')
      moveTo(
        rows.findIndex(({ run }) => run === row.parent),
        undefined,
      );
    else void navigate({ to: '/sessions/$key', params: { key: row.run.sessionKey } });
  }

  return {
    body,
    virtual,
    at,
    isInside,
    onKeyDown,
    onFocus: (runId: string, isWithin: boolean): void => {
      setCurrent(runId);
      setInside(isWithin);
    },
    onBlur: ({ relatedTarget }: { relatedTarget: EventTarget | null }): void => {
      if (!(relatedTarget instanceof Node && body.current?.contains(relatedTarget) === true)) setInside(false);
    },
  };
}

type Move =
  | { kind: 'rows'; by: number }
  | { kind: 'inside'; to: number }
  | { kind: 'toggle' }
  | { kind: 'parent' }
  | { kind: 'open' };

const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  j: 1,
  ArrowUp: -1,
  k: -1,
  PageDown: PAGE_ROWS,
  PageUp: -PAGE_ROWS,
};

/**
 * The action of a key: on the row (`inside` 0), or on the place within it of that number. Null:
 * none of the tree.
 */
function moveOf(key: string, now: { row: TreeRow; inside: number; stops: number }): Move | null {
  const { row, inside, stops } = now;
  const { hasChildren, isOpen, parent } = row;
  const by = STEPS[key];
  if (by !== undefined) return { kind: 'rows', by };
  if (inside > 0) {
    if (key === 'ArrowLeft') return { kind: 'inside', to: inside - 1 };
    if (key === 'ArrowRight') return { kind: 'inside', to: Math.min(stops - 1, inside + 1) };
    if (key === 'Home') return { kind: 'inside', to: 1 };
    if (key === 'End') return { kind: 'inside', to: stops - 1 };
    return null;
  }
  if (key === 'Home') return { kind: 'rows', by: Number.NEGATIVE_INFINITY };
  if (key === 'End') return { kind: 'rows', by: Number.POSITIVE_INFINITY };
  if (key === 'Enter') return { kind: 'open' };
  if (key === 'ArrowRight') return hasChildren && !isOpen ? { kind: 'toggle' } : { kind: 'inside', to: 1 };
  if (key !== 'ArrowLeft') return null;
  if (hasChildren && isOpen) return { kind: 'toggle' };
  return parent === null ? null : { kind: 'parent' };
}
