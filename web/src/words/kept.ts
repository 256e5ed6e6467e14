// What a person has opened in a list: a part that leaves the document and returns shows it again.
import { createContext, useContext, useState } from 'react';

export type Kept = Map<string, unknown>;

export const KeptContext = createContext<Kept | null>(null);

/** A state that outlives its component, under a name; each name is used with one type. */
export function useKept<Value>(name: string, atFirst: Value): [Value, (value: Value) => void] {
  const kept = useContext(KeptContext);
  const [value, setValue] = useState(() => (kept?.has(name) === true ? (kept.get(name) as Value) : atFirst));
  return [
    value,
    (next) => {
      kept?.set(name, next);
      setValue(next);
    },
  ];
}
