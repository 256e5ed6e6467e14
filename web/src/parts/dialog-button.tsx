// Buttons that open a dialog. The focus returns to the button when the dialog is closed.
import { useState, type ComponentProps, type ReactElement, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { Confirm, type ConfirmProps } from './confirm.tsx';

interface DialogButtonProps extends ComponentProps<typeof Button> {
  isOpenAtFirst?: boolean;
  dialog: (close: () => void) => ReactNode;
}

export function DialogButton({ isOpenAtFirst = false, dialog, ...button }: DialogButtonProps): ReactElement {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen && dialog(() => setOpen(false))}
    </>
  );
}

interface ConfirmButtonProps extends Omit<ConfirmProps, 'onClose'> {
  name: string;
  /** Names the object, too, where several buttons have the same name. */
  label?: string;
  buttonTone?: 'main' | 'bad';
}

/** Asks first; the children are in the dialog. */
export function ConfirmButton({ name, label, buttonTone, ...confirm }: ConfirmButtonProps): ReactElement {
  return (
    <DialogButton tone={buttonTone} aria-label={label} dialog={(close) => <Confirm {...confirm} onClose={close} />}>
      {name}
    </DialogButton>
  );
}
