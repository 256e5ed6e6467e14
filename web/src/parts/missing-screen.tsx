// What is shown where a screen could not be loaded. Its file has a hashed name, so a tab that was
// opened before an upgrade requests one that is gone.
import type { ReactElement } from 'react';

/**
 * Offers to load the page again. It does not do so by itself: if the file were still missing, it
 * would never end.
 */
export function MissingScreen(): ReactElement {
  return (
    <div className="problem" role="alert">
      <h1>This screen could not be loaded</h1>
      <p>The dashboard has a new version, or the service is away.</p>
      <button type="button" className="button" onClick={() => location.reload()}>
        Reload the page
      </button>
    </div>
  );
}
