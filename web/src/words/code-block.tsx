// A block of code with a button that copies it.
import type { ReactElement, ReactNode } from 'react';
import { CopyButton } from '../parts/copy-button.tsx';

/** `text`: what is copied. */
export function CodeBlock({ text, children }: { text: string; children: ReactNode }): ReactElement {
  return (
    <div className="code-block">
      <pre tabIndex={0}>{children}</pre>
      <span className="hover-tools">
        <CopyButton name="Copy code" text={() => text} />
      </span>
    </div>
  );
}
