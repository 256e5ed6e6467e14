// What went wrong and what to do next.
import type { ReactElement } from 'react';
import { Button } from './button.tsx';
import { HoldfastError } from '../api.ts';
import { SafeText } from './safe-text.tsx';

/** An error of a request, or of the page itself. */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }): ReactElement {
  const known = error instanceof HoldfastError ? error : null;
  const text = known?.detail ?? (error instanceof Error ? error.message : String(error));
  // The text of a refused request repeats the first of its errors.
  const others = known?.errors.filter(({ path, message }) => !text.includes(`${path}: ${message}`)) ?? [];
  return (
    <div className="problem" role="alert">
      <strong>{known?.title ?? 'The page has failed'}</strong>
      <p>
        <SafeText text={text} />
      </p>
      {others.length > 0 && (
        <ul>
          {others.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <span className="mono">{path}</span> <SafeText text={message} />
            </li>
          ))}
        </ul>
      )}
      {known !== null && known.fix !== '' && <p>{known.fix}</p>}
      {known?.requestId != null && known.status !== null && known.status >= 500 && (
        <p className="mono">Request {known.requestId}</p>
      )}
      {onRetry !== undefined && (
        <p>
          <Button onClick={onRetry}>Try again</Button>
        </p>
      )}
    </div>
  );
}
