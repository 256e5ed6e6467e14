// Why a session or a turn waits: the reason, since and until when, what to do, and the decision where
// a person has to make one.
import type { ReactElement } from 'react';
import { WAIT_WORDS, type WaitCode } from '../format/wait-words.ts';
import { Age } from '../parts/bits.tsx';
import { WhyText } from '../parts/why-text.tsx';
import { ApprovalCard } from './approval-details.tsx';

interface Why {
  code: string;
  text: string;
  since: string;
  until: string | null;
  by: string | null;
}

export function WaitBanner({ why }: { why: Why }): ReactElement {
  const next = WAIT_WORDS[why.code as WaitCode]?.next;
  return (
    <div className="wait-banner" role="status">
      <p>
        <WhyText why={why} />{' '}
        <span className="soft">
          since <Age at={why.since} />
          {why.until !== null && (
            <>
              , at the latest <Age at={why.until} />
            </>
          )}
        </span>
      </p>
      {why.code === 'approval' && why.by !== null ? (
        <ApprovalCard id={why.by} />
      ) : (
        next !== undefined && <p className="soft">{next}</p>
      )}
    </div>
  );
}
