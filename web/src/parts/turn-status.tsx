// The state of a turn, and how many of its calls a person has to check: it is not known whether they
// have taken effect.
import type { ReactElement } from 'react';
import type { ListedTurn } from '../api.ts';
import { namedCountText } from '../format/amounts.ts';
import { Chip, Status } from './bits.tsx';

type Shown = Pick<ListedTurn, 'status' | 'why' | 'unknownCalls'>;

/** `1 call with an unknown outcome`; null: there is none. */
export function unknownText({ unknownCalls }: Pick<Shown, 'unknownCalls'>): string | null {
  return unknownCalls === 0 ? null : `${namedCountText(unknownCalls, 'call')} with an unknown outcome`;
}

export function TurnStatus({ turn }: { turn: Shown }): ReactElement {
  const { status, why } = turn;
  const unknown = unknownText(turn);
  return (
    <>
      <Status status={why !== null && status === 'running' ? 'waiting' : status} />
      {unknown !== null && <Chip tone="bad">{unknown}</Chip>}
    </>
  );
}
