// Why something waits: its code, and the sentence for people.
import type { ReactElement } from 'react';
import { SafeText } from './safe-text.tsx';

export function WhyText({ why: { code, text } }: { why: { code: string; text: string } }): ReactElement {
  return (
    <>
      <span className="chip" data-tone="warn">
        {code}
      </span>{' '}
      <SafeText text={text} />
    </>
  );
}
