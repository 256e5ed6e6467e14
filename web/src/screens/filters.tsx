// The filters of a list: fields whose values are kept only in the URL.
import type { ReactElement, ReactNode } from 'react';

/** A choice; the empty value is no filter. */
export function Choice(props: {
  name: string;
  value: string | undefined;
  options: readonly string[];
  /** What the empty value means; absent: no filter. */
  usual?: string;
  onChange: (value: string | undefined) => void;
}): ReactElement {
  const { name, value, options, usual, onChange } = props;
  return (
    <label>
      {name}
      <select
        value={value === usual ? '' : (value ?? '')}
        onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
      >
        <option value="">{usual ?? 'any'}</option>
        {options
          .filter((option) => option !== usual)
          .map((option) => (
            <option key={option}>{option}</option>
          ))}
      </select>
    </label>
  );
}

/** A text that is used when the field is left or Enter is pressed. */
export function TextFilter(props: {
  name: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}): ReactElement {
  const { name, value, onChange } = props;
  const use = (text: string): void => onChange(text.trim() === '' ? undefined : text.trim());
  return (
    <label>
      {name}
      <input
        key={value}
        defaultValue={value}
        onBlur={(event) => event.target.value !== (value ?? '') && use(event.target.value)}
        onKeyDown={(event) => event.key === 'Enter' && use(event.currentTarget.value)}
      />
    </label>
  );
}

export function Filters({ children }: { children: ReactNode }): ReactElement {
  return (
    <div className="filters" role="search">
      {children}
    </div>
  );
}
