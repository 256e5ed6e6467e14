// What a person or a model wrote, as markdown. Its parser is a file of its own, which is loaded with the first text; until then, and where it
// cannot be loaded, the text is shown as it was written.
import { lazy, Suspense, useState, type ReactElement } from 'react';
import { countText } from '../format/amounts.ts';
import { textUntil } from '../format/long-text.ts';
import { LongText } from '../parts/safe-text.tsx';

const load = () => import('./markdown.tsx');
const Markdown = lazy(async () => ({ default: (await load().catch(() => ({ Markdown: LongText }))).Markdown }));

/** This much of a text is read as markdown and shown at first. */
const SHOWN_CHARS = 4_000;

/** Begins to load the parser, for screens that need it soon; settles also where it cannot be loaded. */
export function preloadMarkdown(): Promise<unknown> {
  return load().catch(() => undefined);
}

/** A text as markdown, or as it was written. A long one is folded, and only what is shown is parsed. */
export function Words({ text, isRaw = false }: { text: string; isRaw?: boolean }): ReactElement {
  const [shown, setShown] = useState(SHOWN_CHARS);
  if (isRaw) return <LongText text={text} />;
  const beginning = textUntil(text, shown);
  const left = text.length - beginning.length;
  return (
    <>
      <Suspense fallback={<LongText text={beginning} />}>
        <Markdown text={beginning} />
      </Suspense>
      {left > 0 && (
        <button type="button" className="button" onClick={() => setShown(4 * shown)}>
          Show more ({countText(left)} characters left)
        </button>
      )}
    </>
  );
}
