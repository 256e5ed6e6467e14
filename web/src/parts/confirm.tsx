// A question before something that cannot be undone: names what and how many, and asks for a reason
// where one is kept.
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactElement, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Field } from './fields.tsx';
import { Problem } from './problem.tsx';

export interface ConfirmProps {
  title: string;
  /** The label of the button that confirms. */
  verb: string;
  /** Absent: it cannot be undone. */
  tone?: 'main';
  children?: ReactNode;
  asksReason?: boolean;
  onClose: () => void;
  /** Executes it; if it throws, the error is shown and the dialog stays open. */
  perform: (reason: string | undefined) => Promise<unknown>;
}

export function Confirm({ title, verb, tone, children, asksReason, onClose, perform }: ConfirmProps): ReactElement {
  const [reason, setReason] = useState('');
  const performed = useMutation({
    mutationFn: () => perform(reason.trim() === '' ? undefined : reason.trim()),
    onSuccess: onClose,
  });

  return (
    <Dialog onClose={onClose} aria-labelledby="confirm-title">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          performed.mutate();
        }}
      >
        <h2 id="confirm-title">{title}</h2>
        {children}
        {asksReason === true && (
          <Field name="Reason (kept in the audit log)" value={reason} maxLength={500} onChange={setReason} />
        )}
        {performed.isError && <Problem error={performed.error} />}
        <div className="row">
          <Button type="submit" tone={tone ?? 'bad'} disabled={performed.isPending}>
            {performed.isPending ? 'Working…' : verb}
          </Button>
          <Button onClick={onClose}>Leave it</Button>
        </div>
      </form>
    </Dialog>
  );
}
