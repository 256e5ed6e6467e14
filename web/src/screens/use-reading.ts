// How a transcript is read: the rows in the document, the end that is kept in view, and the keys
// that move the focus.
import { useElementScrollRestoration } from '@tanstack/react-router';
import {
  defaultRangeExtractor,
  measureElement,
  useVirtualizer,
  type Range,
  type Virtualizer,
} from '@tanstack/react-virtual';
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject, type UIEvent } from 'react';
import { callsAloneOf, idOfRow, type Row } from '../format/conversation.ts';
import { useKeys } from '../parts/use-keys.ts';
import { useSettings } from '../settings.tsx';

const ROW_PX = 90;
const LINE_PX = 26;
const GAP_PX = 2;
const OVERSCAN = 8;
/** Earlier entries are read when so many rows are left above. */
const NEAR_START = 20;
/** So far from the end, new entries are followed. */
const END_PX = 40;

interface ReadingProps {
  box: RefObject<HTMLDivElement | null>;
  rows: readonly Row[];
  sessionKey: string;
  onStart: () => void;
}

/** The rows in the document, the one that has the focus, and the keys that move it. */
export function useReading({ box, rows, sessionKey, onStart }: ReadingProps) {
  const [currentId, setCurrentId] = useState<string | null>(null);
  /** The row that gets the focus as soon as it is in the document. */
  const focused = useRef<string | null>(null);
  const { hasShortcuts } = useSettings();
  const current = rows.findIndex((row) => idOfRow(row) === currentId);
  const before = useElementScrollRestoration({ id: `transcript ${sessionKey}` });
  const { content, onScroll, leaveEnd } = useEnd(box, before === undefined);
  const known = useRef<Virtualizer<HTMLDivElement, Element>>(null);
  // A scroll that has no event yet would be undone when earlier entries are added, or entries are
  // measured, in the same frame.
  if (known.current !== null && box.current !== null) known.current.scrollOffset = box.current.scrollTop;
  const virtual = useVirtualizer<HTMLDivElement, Element>({
    count: rows.length,
    getScrollElement: () => box.current,
    measureElement(element, entry, instance) {
      instance.scrollOffset = box.current?.scrollTop ?? instance.scrollOffset;
      return measureElement(element, entry, instance);
    },
    estimateSize: (index) => (isLine(rows[index]!) ? LINE_PX : ROW_PX),
    overscan: OVERSCAN,
    gap: GAP_PX,
    getItemKey: (index) => idOfRow(rows[index]!),
    // Entries that are read above do not move those that are being read.
    anchorTo: 'end',
    initialOffset: before?.scrollY ?? rows.length * ROW_PX,
    // Until it was measured.
    initialRect: { width: innerWidth, height: innerHeight },
    // The row that has the focus keeps it when it is scrolled out of view.
    rangeExtractor: useCallback((range: Range) => withIndex(defaultRangeExtractor(range), current), [current]),
  });
  known.current = virtual;
  const firstShown = virtual.getVirtualItems()[0]?.index ?? Number.POSITIVE_INFINITY;
  useEffect(() => {
    if (firstShown < NEAR_START) onStart();
  }, [firstShown, rows.length, onStart]);
  const moveTo = useCallback(
    (index: number, align: 'start' | 'auto' = 'auto') => {
      const row = rows[index];
      if (row === undefined) return;
      focused.current = idOfRow(row);
      setCurrentId(idOfRow(row));
      leaveEnd();
      virtual.scrollToIndex(index, { align });
    },
    [rows, virtual, leaveEnd],
  );
  useEffect(() => {
    if (focused.current === null || focused.current !== currentId) return;
    focused.current = null;
    box.current?.querySelector<HTMLElement>(`[data-index="${current}"] > article`)?.focus({ preventScroll: true });
  });

  useKeys(box, (event) => {
    const step = stepOf(event, hasShortcuts);
    if (step === null) return;
    event.preventDefault();
    moveTo(current === -1 ? (virtual.range?.endIndex ?? 0) : current + step);
  });

  return { virtual, moveTo, setCurrentId, content, onScroll };
}

function isLine(row: Row): boolean {
  return (
    row.kind === 'run' || (row.kind === 'said' && callsAloneOf(row)?.length === 1 && row.calls[0]?.state !== 'failed')
  );
}

/** Keeps the end in view while the content grows, unless the reader has left it. */
function useEnd(box: RefObject<HTMLDivElement | null>, isAtFirst: boolean) {
  const isAtEnd = useRef(isAtFirst);
  const content = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const stay = (): void => {
      if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
    };
    stay();
    const observer = new ResizeObserver(stay);
    for (const element of [content.current, box.current]) if (element !== null) observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
  const leaveEnd = useCallback(() => {
    isAtEnd.current = false;
  }, []);
  const last = useRef(0);
  const onScroll = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: UIEvent): void => {
    if (scrollHeight - scrollTop - clientHeight < END_PX) isAtEnd.current = true;
    // It is also far from the end while the content grows.
    else if (scrollTop < last.current) isAtEnd.current = false;
    last.current = scrollTop;
  };
  return { content, onScroll, leaveEnd };
}

/**
 * How far a key moves the focus; null: it does not. The arrows move it from an entry only, and
 * scroll otherwise.
 */
function stepOf({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent, hasShortcuts: boolean): number | null {
  if (ctrlKey || metaKey || altKey) return null;
  const isOnEntry = target instanceof HTMLElement && target.tagName === 'ARTICLE';
  if (isOnEntry && (key === 'ArrowDown' || key === 'ArrowUp')) return key === 'ArrowDown' ? 1 : -1;
  return hasShortcuts ? ({ j: 1, k: -1 }[key] ?? null) : null;
}

function withIndex(indexes: number[], index: number): number[] {
  if (index === -1 || indexes.includes(index)) return indexes;
  return [...indexes, index].toSorted((one, other) => one - other);
}
