// Why something waits: its code, and the sentence for people.
import type { ReactElement } from 'react';
import { Chip } from './bits.tsx';
import { SafeText } from './safe-text.tsx';

export function WhyText({ why: { code, text } }: { why: { code: string; text: string } }): ReactElement {
  return (
    <>
      <Chip tone="warn">{code}</Chip> <SafeText text={text} />
    </>
  );
}
