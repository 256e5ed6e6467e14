// A turn of a session that failed: why, and what can be done about it. Its entries are hidden from
// the model, so the conversation has only this.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, type ListedTurn } from '../api.ts';
import type { FailedRow } from '../format/conversation.ts';
import { Age, Status } from '../parts/bits.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { Words } from '../words/words.tsx';
import { TurnActions } from './turn-actions.tsx';

/** The newest of a session. */
const FAILED_SHOWN = 50;
const NONE: readonly ListedTurn[] = [];

/** The turns of the current transcript that failed, oldest first. */
export function useFailedTurns(key: string): readonly ListedTurn[] {
  const failed = useQuery({
    // Begins as the session's does: its events refresh it.
    queryKey: ['session', key, 'failed'],
    queryFn: () => api.listTurns({ session: key, status: ['failed', 'timedOut'], steps: 'none', limit: FAILED_SHOWN }),
    select: ({ items }) => items.toReversed(),
  });
  const hasSome = (failed.data?.length ?? 0) > 0;
  const reset = useQuery({
    queryKey: ['session', key, 'ended'],
    queryFn: () => api.listTranscripts({ key, limit: 2 }),
    enabled: hasSome,
    select: ({ items }) => items.find(({ isCurrent }) => !isCurrent)?.endedAt ?? '',
  });
  const { data: since } = reset;
  if (!hasSome || failed.data === undefined || since === undefined) return NONE;
  return failed.data.every(({ startedAt }) => startedAt > since)
    ? failed.data
    : failed.data.filter(({ startedAt }) => startedAt > since);
}

export function FailedBlock({
  row: { turn, hasPrompt },
  index,
  count,
}: {
  row: FailedRow;
  index: number;
  count: number;
}): ReactElement {
  const { id, error, nextStep, firstWords, status, endedAt } = turn;
  return (
    <article
      className="entry"
      data-kind="failed"
      aria-label="A turn that failed"
      aria-posinset={index + 1}
      aria-setsize={count}
      tabIndex={-1}
    >
      {!hasPrompt && firstWords !== null && (
        <p>
          <SafeText text={firstWords} /> <span className="chip">its turn failed</span>
        </p>
      )}
      <p className="row">
        <Status status={status} />
        {error !== null && (
          <strong className="mono">
            <SafeText text={error.code} />
          </strong>
        )}
        <span className="soft">
          <Age at={endedAt} />
        </span>
        <Link to="/turns/$id" params={{ id }}>
          turn {id.slice(-6)}
        </Link>
      </p>
      {error !== null && <Words text={error.message} />}
      {nextStep !== null && (
        <p>
          <strong>What to do next:</strong> {nextStep}
        </p>
      )}
      <div className="row">
        <TurnActions turn={turn} />
      </div>
    </article>
  );
}
