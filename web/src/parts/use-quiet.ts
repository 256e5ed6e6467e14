import { useEffect, useState } from 'react';

/** A search begins when nothing was typed for so long. */
const QUIET_MS = 200;

/** A text once it has not changed for a while. */
export function useQuiet(text: string): string {
  const [quiet, setQuiet] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setQuiet(text), QUIET_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return quiet;
}
