// A button.
import type { ComponentProps, ReactElement } from 'react';

interface ButtonProps extends ComponentProps<'button'> {
  /** `bad`: it cannot be undone. */
  tone?: 'main' | 'bad' | undefined;
}

export function Button({ tone, ...props }: ButtonProps): ReactElement {
  return <button type="button" className="button" data-tone={tone} {...props} />;
}
