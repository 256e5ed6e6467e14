// What this browser remembers of a list: its columns, their widths, and filters that were saved under a name. The URL takes precedence.
import { useState } from 'react';

interface Remembered {
  /** As in the URL. */
  columns?: string | undefined;
  /** In pixels, by the title of the column. */
  widths?: Readonly<Record<string, number>>;
  /** Filters as the query of a URL, by name. */
  views?: Readonly<Record<string, string>>;
}

const keyOf = (path: string): string => `holdfast.list ${path}`;

function read(path: string): Remembered {
  try {
    // Only this page writes it.
    return JSON.parse(localStorage.getItem(keyOf(path)) ?? '{}') as Remembered;
  } catch {
    return {};
  }
}

export function useMemory(path: string): [Remembered, (part: Remembered) => void] {
  const [memory, setMemory] = useState(() => read(path));
  return [
    memory,
    (part) => {
      const next = { ...read(path), ...part };
      setMemory(next);
      try {
        localStorage.setItem(keyOf(path), JSON.stringify(next));
      } catch {
        // A browser without storage loses the choice when the page is closed.
      }
    },
  ];
}
