// A dialog over the page. It opens when it is drawn, and the focus returns to where it was: when
// that is gone, to the screen.
import { useEffect, useRef, type ComponentProps, type ReactElement, type RefObject } from 'react';

export function Dialog({
  className = '',
  ref,
  ...props
}: ComponentProps<'dialog'> & { ref?: RefObject<HTMLDialogElement | null> }): ReactElement {
  const own = useRef<HTMLDialogElement>(null);
  const dialog = ref ?? own;
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      // What a dialog has led to has the focus already.
      if (document.activeElement !== document.body && document.activeElement !== before) return;
      const isThere = before instanceof HTMLElement && before !== document.body && before.isConnected;
      (isThere ? before : document.getElementById('main'))?.focus({ preventScroll: true });
    };
  }, [dialog]);
  return <dialog {...props} className={`dialog ${className}`.trim()} ref={dialog} />;
}
