// A button that copies a text, and says that it has.
import { useState, type ReactElement } from 'react';
import { Button } from './button.tsx';

/**
 * Copies what `text` answers when it is pressed. Where the browser allows no copying, the text is
 * shown for selecting.
 */
export function CopyButton({
  name,
  isDisabled = false,
  text,
}: {
  name: string;
  isDisabled?: boolean;
  text: () => string;
}): ReactElement {
  const [copied, setCopied] = useState<string | null>(null);
  const [shown, setShown] = useState<string | null>(null);
  async function copy(): Promise<void> {
    const value = text();
    try {
      await navigator.clipboard.writeText(value);
      setShown(null);
      setCopied(value);
    } catch {
      setShown(value);
    }
  }
  return (
    <>
      <Button disabled={isDisabled} onClick={() => void copy()}>
        {name}
      </Button>
      <span role="status" className="soft">
        {copied !== null && 'Copied'}
      </span>
      {shown !== null && <input readOnly value={shown} aria-label={name} onFocus={(event) => event.target.select()} />}
    </>
  );
}
