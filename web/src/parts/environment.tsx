// The name of the environment, which tells installations apart.
import type { ReactElement } from 'react';
import { SafeText } from './safe-text.tsx';

export function Environment({ name }: { name: string | null | undefined }): ReactElement | null {
  if (name == null) return null;
  return (
    <span className="chip" data-tone="live">
      <span className="hidden-visually">environment </span>
      <SafeText text={name} />
    </span>
  );
}
