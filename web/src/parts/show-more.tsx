// Tables that can have thousands of rows: the first of them, and a button for more, so that the
// document stays small.
import { useState, type ReactElement } from 'react';
import { Button } from './button.tsx';
import { countText } from '../format/amounts.ts';

const ROWS = 100;

/** The first rows, and the button that adds as many again; null: all are shown. */
export function useFirst<Row>(
  rows: readonly Row[],
  atOnce = ROWS,
): { first: readonly Row[]; more: ReactElement | null } {
  const [shown, setShown] = useState(atOnce);
  const left = rows.length - shown;
  const more =
    left <= 0 ? null : (
      <Button onClick={() => setShown(shown + Math.max(atOnce, ROWS))}>Show more ({countText(left)} rows left)</Button>
    );
  return { first: rows.slice(0, shown), more };
}
