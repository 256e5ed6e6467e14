// What a person or a model wrote, as markdown. Its parser is a file of its own, which is loaded
// with the first text; until then, and where it cannot be loaded or fails, the text is shown as it
// was written.
import { CatchBoundary } from '@tanstack/react-router';
import { Suspense, use, useState, type ComponentType, type ReactElement } from 'react';
import { countText } from '../format/amounts.ts';
import { textUntil } from '../format/long-text.ts';
import { LongText } from '../parts/safe-text.tsx';

type Shown = ComponentType<{ text: string }>;

let markdown: Promise<Shown> | undefined;

/** The parser, which is loaded once; plain text where it cannot be loaded. */
export function loadMarkdown(): Promise<Shown> {
  markdown ??= import('./markdown.tsx').then(
    (module) => module.Markdown,
    () => LongText,
  );
  return markdown;
}

function Parsed({ text }: { text: string }): ReactElement {
  const Markdown = use(loadMarkdown());
  return <Markdown text={text} />;
}

/** This much of a text is read as markdown and shown at first. */
const SHOWN_CHARS = 4_000;

/**
 * A text as markdown, or as it was written. A long one is folded, and only what is shown is parsed.
 */
export function Words({ text, isRaw = false }: { text: string; isRaw?: boolean }): ReactElement {
  const [shown, setShown] = useState(SHOWN_CHARS);
  if (isRaw) return <LongText text={text} />;
  const beginning = textUntil(text, shown);
  const left = text.length - beginning.length;
  return (
    <>
      <CatchBoundary getResetKey={() => beginning} errorComponent={() => <LongText text={beginning} />}>
        <Suspense fallback={<LongText text={beginning} />}>
          <Parsed text={beginning} />
        </Suspense>
      </CatchBoundary>
      {left > 0 && (
        <button type="button" className="button" onClick={() => setShown(4 * shown)}>
          Show more ({countText(left)} characters left)
        </button>
      )}
    </>
  );
}
