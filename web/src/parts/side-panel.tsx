// What a row of a list is, opened beside the list; Escape closes it. In a narrow window it covers the
// list.
import { X } from 'lucide-react';
import { Suspense, useEffect, useEffectEvent, type ReactElement, type ReactNode } from 'react';
import { Loading } from './loading.tsx';

/**
 * A list, and what is opened of it; undefined: nothing. The list stays the same elements, so that it
 * keeps its place and the focus.
 */
export function Beside(props: { opened: ReactNode; onClose: () => void; children: ReactNode }): ReactElement {
  const { opened, onClose, children } = props;
  // The row of an opened id may not be loaded, or may have nothing to show.
  const isOpen = opened != null;
  return (
    <div className={isOpen ? 'beside-panel' : 'list-alone'}>
      <div className="list-column">{children}</div>
      {isOpen && <SidePanel onClose={onClose}>{opened}</SidePanel>}
    </div>
  );
}

function SidePanel({ onClose, children }: { onClose: () => void; children: ReactNode }): ReactElement {
  const onKeyDown = useEffectEvent((event: KeyboardEvent): void => {
    const isElsewhere = document.querySelector('dialog[open], :popover-open') !== null;
    if (event.key === 'Escape' && !event.defaultPrevented && !isElsewhere) onClose();
  });
  useEffect(() => {
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <div className="side-panel">
      <Suspense fallback={<Loading />}>{children}</Suspense>
    </div>
  );
}

/** The head of what is opened: what it is, the way to all of it, and the way back. */
export function PanelHead({ children, onClose }: { children: ReactNode; onClose: () => void }): ReactElement {
  return (
    <div className="row panel-head">
      {children}
      <button type="button" className="icon-button end" aria-label="Close" data-palette onClick={onClose}>
        <X size={16} />
      </button>
    </div>
  );
}
