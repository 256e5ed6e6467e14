// The last fires of a cron as a row of signs.
import type { ReactElement } from 'react';
import type { CronFire } from '../api.ts';

/** Each status has its own symbol: colours only repeat it. */
const SIGNS: Readonly<Record<CronFire['status'], string>> = {
  completed: '●',
  failed: '✕',
  missed: '○',
  skipped: '–',
  claimed: '▸',
};

/**
 * Fires, given newest first, as signs with the oldest first; a screen reader says the same in
 * words.
 */
export function FireStrip({ fires }: { fires: readonly CronFire[] }): ReactElement {
  if (fires.length === 0) return <span className="soft">none yet</span>;
  const ordered = fires.toReversed();
  return (
    <span className="strip" role="img" aria-label={`Oldest first: ${ordered.map(({ status }) => status).join(', ')}`}>
      {ordered.map(({ scheduledFor, status }) => (
        <span key={scheduledFor} data-status={status} title={status}>
          {SIGNS[status]}
        </span>
      ))}
    </span>
  );
}
