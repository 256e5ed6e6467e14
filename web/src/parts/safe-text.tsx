// Untrusted text, shown as plain text.
import { useState, type ReactElement } from 'react';
import { Button } from './button.tsx';
import { countText } from '../format/amounts.ts';
import { beginningOf } from '../format/long-text.ts';
import { piecesOf } from '../format/visible-text.ts';

/** This much of a text is in the page at first; a line of a megabyte would make it slow. */
const SHOWN_CHARS = 16_384;

/** A text with its invisible characters as marks. */
export function SafeText({ text }: { text: string }): ReactElement {
  return (
    <bdi>
      {piecesOf(text).map((piece, at) =>
        piece.mark === null ? (
          piece.text
        ) : (
          <span key={at} className="mark" title={`Invisible character ${piece.mark}`}>
            {piece.mark}
          </span>
        ),
      )}
    </bdi>
  );
}

/** A long text: its beginning, and a button for more. */
export function LongText({ text }: { text: string }): ReactElement {
  const [shown, setShown] = useState(SHOWN_CHARS);
  const beginning = beginningOf(text, shown);
  const left = text.length - beginning.length;
  return (
    <>
      <pre tabIndex={0}>
        <SafeText text={beginning} />
      </pre>
      {left > 0 && (
        <Button onClick={() => setShown(shown + 16 * SHOWN_CHARS)}>
          Show more ({countText(left)} characters left)
        </Button>
      )}
    </>
  );
}
