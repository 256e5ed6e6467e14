// The name of the environment, which tells installations apart.
import type { ReactElement } from 'react';
import { Chip } from './bits.tsx';
import { SafeText } from './safe-text.tsx';

export function Environment({ name }: { name: string | null | undefined }): ReactElement | null {
  if (name == null) return null;
  return (
    <Chip tone="live">
      <span className="hidden-visually">environment </span>
      <SafeText text={name} />
    </Chip>
  );
}
