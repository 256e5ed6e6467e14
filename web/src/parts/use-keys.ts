// Keys of a list, and the row that had the focus when its page was left.
import { useLocation } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useRef, useState, type RefObject } from 'react';

/** Nothing smaller than the screen has the focus. A click on its text gives it to the screen. */
function isFree(): boolean {
  return document.activeElement?.matches('body, main') === true && document.querySelector(':popover-open') === null;
}

/**
 * Keys act at once, also before a row was clicked: while the list or nothing smaller than the
 * screen has the focus.
 */
export function useKeys(
  box: RefObject<HTMLElement | null>,
  onKey: (event: KeyboardEvent, isInside: boolean) => void,
): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent): void => {
    const isInside = box.current?.contains(document.activeElement) === true;
    if (document.querySelector('dialog[open]') !== null) return;
    if (!event.defaultPrevented && (isInside || isFree())) onKey(event, isInside);
  });
  useEffect(() => {
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}

/** Ids of rows, by the list and the entry of the history. */
const left = new Map<string, string>();

interface LeftRowProps<Row> {
  place: string;
  rows: readonly Row[];
  idOf: (row: Row) => string;
  moveTo: (index: number) => void;
}

/**
 * After Back, the row that was left has the focus again, as soon as the list has it. Returns what
 * remembers a row.
 */
export function useLeftRow<Row>({ place, rows, idOf, moveTo }: LeftRowProps<Row>): (id: string) => void {
  const spot = useLocation({ select: ({ state }) => `${place} ${state.__TSR_key}` });
  const [id] = useState(() => left.get(spot));
  const isDone = useRef(id === undefined);
  useEffect(() => {
    if (isDone.current) return;
    const index = rows.findIndex((row) => idOf(row) === id);
    if (index !== -1 && isFree()) moveTo(index);
    isDone.current = index !== -1 || !isFree();
  });
  const last = useRef(id);
  // What is opened beside a list is another entry of the history.
  useEffect(() => {
    if (last.current !== undefined) left.set(spot, last.current);
  }, [spot]);
  return (now) => {
    last.current = now;
    left.set(spot, now);
  };
}
