// A link to a path of this page that the service names.
import { useRouter } from '@tanstack/react-router';
import type { MouseEvent, ReactElement, ReactNode } from 'react';

/** `href` is a path with its query and fragment. */
export function PathLink({ href, children }: { href: string; children: ReactNode }): ReactElement {
  const { history } = useRouter();
  const follow = (event: MouseEvent): void => {
    // A click that asks for another tab or window is the browser's.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    history.push(href);
  };
  return (
    <a href={href} onClick={follow}>
      {children}
    </a>
  );
}
