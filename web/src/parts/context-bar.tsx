// How much of the context window of its model a session uses.
import type { ReactElement } from 'react';
import type { Session } from '../api.ts';
import { countText, percentText } from '../format/amounts.ts';

/** From this share on, the bar has another colour. */
const FULL_SHARE = 0.8;

export function ContextBar({ session }: { session: Session }): ReactElement {
  const { tokens, contextWindow } = session;
  const text = `${percentText(tokens.context, contextWindow)} of the context window: ${tokens.context.toLocaleString('en-US')} of ${contextWindow.toLocaleString('en-US')} tokens`;
  return (
    <span className="context-bar" title={text}>
      <meter
        max={contextWindow}
        high={contextWindow * FULL_SHARE}
        optimum={0}
        value={Math.min(tokens.context, contextWindow)}
        aria-label={text}
      />{' '}
      {countText(tokens.context)}
    </span>
  );
}
