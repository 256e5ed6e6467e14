// How far a bulk action is.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { Status } from './bits.tsx';
import { Button } from './button.tsx';

const POLL_MS = 1_000;

/** How far an action is, and the button that stops it. */
export function Progress({ id }: { id: string }): ReactElement | null {
  const { data } = useQuery({
    queryKey: ['bulk', id],
    queryFn: () => api.getBulkAction({ id }),
    refetchInterval: ({ state }) => (state.data?.endedAt == null ? POLL_MS : false),
  });
  if (data === undefined) return null;
  const ended = data.done + data.skipped + data.failed;
  return (
    <span className="row" role="status">
      <Status status={data.status} />
      <progress max={Math.max(1, data.total)} value={ended} aria-label={`${data.action} ${data.target}`} />
      {countText(data.done)} done, {countText(data.skipped)} skipped, {countText(data.failed)} failed of{' '}
      {countText(data.total)}
      {data.endedAt === null && <Button onClick={() => void api.cancelBulkAction({ id })}>Stop</Button>}
    </span>
  );
}
