// Why something waits: its code, and the sentence for people; where a person can decide, the way
// there.
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { Chip } from './bits.tsx';
import { SafeText } from './safe-text.tsx';

interface WhyTextProps {
  why: { code: string; text: string; by?: string | null };
}

export function WhyText({ why: { code, text, by } }: WhyTextProps): ReactElement {
  return (
    <>
      <Chip tone="warn">{code}</Chip> <SafeText text={text} />
      {code === 'approval' && by != null && (
        <>
          {' '}
          <Link to="/approvals" search={{ open: by }}>
            Decide
          </Link>
        </>
      )}
    </>
  );
}
